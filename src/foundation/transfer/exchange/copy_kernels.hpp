// Ways to copy whole pages. Which is the fastest depends on the processor and on the memories: stores that pass by
// the caches save the read of each line that is overwritten, and lose where the caches hold both.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace terrace::transfer {

struct CopyKernel {
  std::string_view name;
  // Both are aligned to a page, the size is a number of pages. All of it can be seen by other threads afterwards.
  void (*copy)(void* to, const void* from, std::size_t size);
};

// Those that this processor can run; memcpy is the first.
std::span<const CopyKernel> copy_kernels() noexcept;

// Of those, the one that was fastest between these two buffers, which are touched, and not in the caches when it
// begins; each is tried several times, in turn, and counts by its fastest.
const CopyKernel& fastest_copy_kernel(void* to, const void* from, std::size_t size) noexcept;

}  // namespace terrace::transfer
