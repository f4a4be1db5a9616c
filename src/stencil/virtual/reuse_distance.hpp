// SPDX-License-Identifier: Apache-2.0
// How likely it is that data are still in a cache: by what was accessed since they were accessed last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stencil/virtual/fenwick_tree.hpp"

namespace terrace::stencil {

class ReuseDistance {
 public:
  // Blocks of data, each with its bytes.
  void add_blocks(std::size_t count, double bytes);
  // Bytes of the different blocks that were accessed since this one was; infinite the first time. It is accessed
  // now.
  double access(std::size_t block);

 private:
  void renumber();

  static constexpr std::size_t k_never = ~std::size_t{0};
  std::vector<double> bytes_;
  std::vector<std::size_t> last_;  // when a block was accessed
  FenwickTree sums_;               // of bytes, by time
  std::size_t now_ = 0;
};

}  // namespace terrace::stencil
