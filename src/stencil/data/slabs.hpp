// SPDX-License-Identifier: Apache-2.0
// Cuts large ranges into slabs, so that copies need little temporary memory. Used for transfers between blocks,
// for checkpoints and for values that ranks gather.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "stencil/data/storage.hpp"

namespace terrace::stencil {

inline constexpr std::size_t k_slab = std::size_t{16} << 20U;  // default slab size in bytes

// Calls action(slab) for pieces of at most `most` points (at least one), in an order in which their points
// follow one another in the range, x fastest: planes where one fits, else rows, else parts of rows.
template <class Action>
void for_slabs(const Range& range, std::uint64_t most, Action action) {
  Point step{1, 1, 1};
  auto room = std::max<std::uint64_t>(most, 1);
  for (std::size_t d = 0; d < k_max_dims; ++d) {
    const auto length = static_cast<std::uint64_t>(range.length(d));
    step[d] = static_cast<std::ptrdiff_t>(std::clamp<std::uint64_t>(length, 1, room));
    if (length > room) break;
    room = std::max<std::uint64_t>(room / std::max<std::uint64_t>(length, 1), 1);
  }
  Point at{};
  for (at[2] = range.begin[2]; at[2] < range.end[2]; at[2] += step[2])
    for (at[1] = range.begin[1]; at[1] < range.end[1]; at[1] += step[1])
      for (at[0] = range.begin[0]; at[0] < range.end[0]; at[0] += step[0]) {
        Range slab;
        slab.begin = at;
        for (std::size_t d = 0; d < k_max_dims; ++d) slab.end[d] = std::min(at[d] + step[d], range.end[d]);
        action(slab);
      }
}

// Returns the layout of a range whose values lie contiguously, x fastest.
[[nodiscard]] inline DatasetInfo packed(const Range& range, std::size_t element) {
  DatasetInfo info;
  info.element = element;
  info.range = range;
  info.row = range.length(0);
  info.plane = info.row * range.length(1);
  return info;
}

}  // namespace terrace::stencil
