// SPDX-License-Identifier: Apache-2.0
// Holds scope-bound blocks of an allocator, which the destructor releases. A program takes the blocks of its
// vectors from it, as the tests of workloads/pim do.
#pragma once

#include <vector>

#include "pim/allocator.hpp"

namespace terrace::pim {

// Allocates blocks for a program: each shares the first subarray of the first block, or of an existing one.
class Lease {
 public:
  explicit Lease(Allocator& allocator, Handle beside = {}) : allocator_(allocator), beside_(beside) {}
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  // Throws Error{no_memory} if there is no space with that first subarray, and Error{invalid} as
  // Allocator::allocate() does.
  Block operator()(const Shape& shape);
  // Allocates all with the same first subarray, or none: throws Error{no_memory}. Later blocks share that
  // subarray.
  std::vector<Block> together(const std::vector<Shape>& shapes);

 private:
  Block keep(Handle handle);

  Allocator& allocator_;
  Handle beside_;
  std::vector<Handle> handles_;
};

}  // namespace terrace::pim
