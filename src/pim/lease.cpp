// SPDX-License-Identifier: Apache-2.0
// Allocates blocks of a PIM device that lie together and releases them at the end of a scope. A program takes the
// blocks of its vectors from it, as the tests of workloads/pim do.
#include "pim/lease.hpp"

#include <string>

#include "core/error.hpp"

namespace terrace::pim {

Lease::~Lease() {
  for (const auto handle : handles_) allocator_.release(handle);
}

Block Lease::operator()(const Shape& shape) {
  const auto handle = allocator_.allocate({.shape = shape, .beside = beside_});
  if (!handle)
    throw Error(Code::no_memory, "no " + std::to_string(shape.rows) + " rows x " +
                                     std::to_string(shape.subarrays) + " subarrays are free" +
                                     (beside_ ? " in the subarrays of the operands" : "") +
                                     "; release blocks, or use a larger device");
  return keep(handle);
}

std::vector<Block> Lease::together(const std::vector<Shape>& shapes) {
  std::vector<Request> requests;
  requests.reserve(shapes.size());
  for (const auto& shape : shapes) requests.push_back({.shape = shape, .dim = Dim::vertical});
  const auto handles = allocator_.allocate_group(requests, Within::subarray);
  if (handles.empty())
    throw Error(Code::no_memory, "no space for " + std::to_string(shapes.size()) +
                                     " vectors in the same subarrays; release blocks, or use a larger device");
  std::vector<Block> blocks;
  blocks.reserve(handles.size());
  for (const auto handle : handles) blocks.push_back(keep(handle));
  return blocks;
}

Block Lease::keep(Handle handle) {
  handles_.push_back(handle);
  if (!beside_) beside_ = handle;
  return *allocator_.block(handle);
}

}  // namespace terrace::pim
