// SPDX-License-Identifier: Apache-2.0
// Computes reuse distances of blocks of data: the bytes of other blocks accessed since the previous access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

}  // namespace terrace::stencil
