// SPDX-License-Identifier: Apache-2.0
// Blocks of an allocator that go when their work is done.
#pragma once

#include <vector>

#include "pim/allocator.hpp"

namespace terrace::pim {

// What programs get their rows from: each block beside the first one, whose subarrays it shares, or beside one
// that was there before. All are released with the lease.
class Lease {
 public:
  explicit Lease(Allocator& allocator, Handle beside = {}) : allocator_(allocator), beside_(beside) {}
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  // Throws Error{no_memory} where there is no room beside it, and Error{invalid} as Allocator::allocate() does.
  Block operator()(const Shape& shape);
  // All with the same first subarray, or none: throws Error{no_memory}. The next blocks are beside these.
  std::vector<Block> together(const std::vector<Shape>& shapes);

 private:
  Block keep(Handle handle);

  Allocator& allocator_;
  Handle beside_;
  std::vector<Handle> handles_;
};

}  // namespace terrace::pim
