// Objects that the program makes larger.
#pragma once

#include <cstddef>

namespace terrace::agent {

// The block of an object moves, with its first `size` bytes, to one of `room` bytes, which is returned. No byte is
// copied: the pages themselves move, as the C library has it for blocks of this size (mremap(2)). Null in virtual
// time, where the kernel refuses, and where there is no room; then all is as it was.
void* grow_object(void* block, std::size_t size, std::size_t room) noexcept;

// The C library keeps blocks of sizes that the program has freed before (mallopt(3), M_MMAP_THRESHOLD). Of those
// that are ours it would never hear, and would map and unmap smaller ones each time.
void raise_mmap_threshold(std::size_t size) noexcept;

}  // namespace terrace::agent
