// SPDX-License-Identifier: Apache-2.0
// Grows objects by moving their pages, and adapts the next allocator to freed sizes.
#pragma once

#include <cstddef>

namespace terrace::agent {

// Moves the first `size` bytes of an object's block to a new block of `room` bytes, and returns that. Moves pages
// instead of copying (mremap(2)), as the C library does for blocks of this size. Returns null, without effect, in
// virtual time, if the kernel refuses, or if there is no capacity.
void* grow_object(void* block, std::size_t size, std::size_t room) noexcept;

// Raises the C library's dynamic mmap threshold to `size` (mallopt(3), M_MMAP_THRESHOLD), as if it had freed such
// a block itself. It does not see blocks that Terrace frees, and would map and unmap smaller ones each time.
void raise_mmap_threshold(std::size_t size) noexcept;

}  // namespace terrace::agent
