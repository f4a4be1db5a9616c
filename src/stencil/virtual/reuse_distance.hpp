// SPDX-License-Identifier: Apache-2.0
// Computes reuse distances of blocks of data, the bytes of other blocks accessed since the previous access, and
// cuts datasets into such blocks. Used by the mode `unified` of virtual time, to know which pages are still in GPU
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stencil/data/storage.hpp"
#include "stencil/plan/chain_use.hpp"
#include "stencil/virtual/fenwick_tree.hpp"

namespace terrace::stencil {

class ReuseDistance {
 public:
  // Adds `count` blocks of `bytes` each.
  void add_blocks(std::size_t count, double bytes);
  // Returns the bytes of the distinct blocks accessed since this one was, infinity at its first access; then
  // counts an access to it now.
  double access(std::size_t block);

 private:
  void renumber();

  static constexpr std::size_t k_never = ~std::size_t{0};
  std::vector<double> bytes_;
  std::vector<std::size_t> last_;  // time of each block's last access
  FenwickTree sums_;               // bytes by time of last access
  std::size_t now_ = 0;
};

// Cuts datasets into blocks of their slowest dimension, for modes that track at block granularity what is still
// in the fast memory.
class DatasetBlocks {
 public:
  void add(const DatasetInfo& info, ReuseDistance& reuse) {
    const auto slow = info.slow_dimension();
    const auto rows = info.range.length(slow);
    const auto per_block = (rows + k_blocks - 1) / k_blocks;
    const auto blocks = static_cast<std::size_t>((rows + per_block - 1) / per_block);
    datasets_.push_back(
        {count_, slow, per_block, info.range.begin[slow], static_cast<double>(info.bytes()) / double(blocks)});
    reuse.add_blocks(blocks, datasets_.back().bytes);
    count_ += blocks;
  }
  // Returns the number of blocks of all datasets.
  [[nodiscard]] std::size_t count() const { return count_; }

  // Calls action(block, bytes, share) for each block that an argument accesses in a part of its loop; `share`
  // is the fraction of the argument's accesses that fall into the block.
  template <class Action>
  void for_each(const Argument& argument, const Range& part, Action action) const {
    const auto& of = datasets_[argument.dataset];
    const auto reached = reached_range(part, argument);
    const auto first = (reached.begin[of.slow] - of.begin) / of.rows;
    const auto last = (reached.end[of.slow] - 1 - of.begin) / of.rows;
    for (auto block = first; block <= last; ++block)
      action(of.first + static_cast<std::size_t>(block), of.bytes, 1.0 / static_cast<double>(last - first + 1));
  }

 private:
  static constexpr std::ptrdiff_t k_blocks = 512;  // maximum per dataset
  struct DatasetLayout {
    std::size_t first;
    std::size_t slow;     // dimension
    std::ptrdiff_t rows;  // of a block
    std::ptrdiff_t begin;
    double bytes;  // of a block
  };
  std::vector<DatasetLayout> datasets_;
  std::size_t count_ = 0;
};

}  // namespace terrace::stencil
