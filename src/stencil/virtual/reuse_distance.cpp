// SPDX-License-Identifier: Apache-2.0
// Sums the bytes of the distinct blocks accessed since a block was, in a Fenwick tree. The
// stencil library's virtual time calls it at each access to a block, where it simulates GPU unified memory
// (unified.cpp).
#include "stencil/virtual/reuse_distance.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace terrace::stencil {

void ReuseDistance::add_blocks(std::size_t count, double bytes) {
  bytes_.insert(bytes_.end(), count, bytes);
  last_.insert(last_.end(), count, k_never);
  renumber();
}

// Renumbers the times of last accesses from 0, when the tree has no place for another one.
void ReuseDistance::renumber() {
  std::vector<std::size_t> order;
  for (std::size_t block = 0; block < last_.size(); ++block)
    if (last_[block] != k_never) order.push_back(block);
  std::ranges::sort(order, {}, [&](std::size_t block) { return last_[block]; });
  sums_.reset(8 * last_.size() + 1);
  now_ = 0;
  for (const auto block : order) {
    last_[block] = now_;
    sums_.add(now_++, bytes_[block]);
  }
}

double ReuseDistance::access(std::size_t block) {
  if (now_ >= sums_.size()) renumber();
  auto distance = std::numeric_limits<double>::infinity();
  if (last_[block] != k_never) {
    distance = std::max(sums_.sum(now_) - sums_.sum(last_[block] + 1), 0.0);
    sums_.add(last_[block], -bytes_[block]);
  }
  last_[block] = now_;
  sums_.add(now_++, bytes_[block]);
  return distance;
}

}  // namespace terrace::stencil
