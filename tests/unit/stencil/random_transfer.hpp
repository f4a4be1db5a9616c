// Generates transfers of random parts with random axis permutations.
#pragma once

#include <algorithm>
#include <utility>

#include "random_chain.hpp"
#include "stencil/data/block_transfer.hpp"

namespace terrace::stencil::test {

// Transfers from a part of one range to a part of another.
[[nodiscard]] inline BlockTransfer random_transfer(RandomMaker& maker, DatasetId from, const Range& source,
                                                   DatasetId to, const Range& target) {
  BlockTransfer made;
  made.from = from;
  made.to = to;
  for (std::size_t d = k_max_dims - 1; d > 0; --d)
    std::swap(made.orientation.axes[d],
              made.orientation.axes[static_cast<std::size_t>(maker.number(0, static_cast<std::ptrdiff_t>(d)))]);
  for (std::size_t d = 0; d < k_max_dims; ++d) {
    const auto axis = made.orientation.axes[d];
    made.orientation.flipped[d] = maker.number(0, 1) == 1;
    const auto length = maker.number(1, std::min(source.length(axis), target.length(d)));
    made.from_range.begin[axis] = maker.number(source.begin[axis], source.end[axis] - length);
    made.to_range.begin[d] = maker.number(target.begin[d], target.end[d] - length);
    made.from_range.end[axis] = made.from_range.begin[axis] + length;
    made.to_range.end[d] = made.to_range.begin[d] + length;
  }
  return made;
}

}  // namespace terrace::stencil::test
