// SPDX-License-Identifier: Apache-2.0
// Implements a Fenwick tree: prefix sums of values that change one at a time, each operation in logarithmic time
// (P. Fenwick, Software: Practice and Experience 24(3), 1994). The models of virtual time sum bytes by the time of
// their last access in it, which gives reuse distances.
#pragma once

#include <cstddef>
#include <vector>

namespace terrace::stencil {

class FenwickTree {
 public:
  // Resets to `count` values of 0.
  void reset(std::size_t count) { tree_.assign(count + 1, 0); }
  [[nodiscard]] std::size_t size() const { return tree_.empty() ? 0 : tree_.size() - 1; }
  void add(std::size_t at, double number) {
    for (++at; at < tree_.size(); at += at & (~at + 1)) tree_[at] += number;
  }
  // Returns the sum of the values before `end`.
  [[nodiscard]] double sum(std::size_t end) const {
    double sum = 0;
    for (; end > 0; end -= end & (~end + 1)) sum += tree_[end];
    return sum;
  }

 private:
  std::vector<double> tree_;
};

}  // namespace terrace::stencil
