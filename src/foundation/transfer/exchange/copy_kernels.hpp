// SPDX-License-Identifier: Apache-2.0
// Declares the kernels that copy whole pages for a page exchange. The fastest depends on processor and memories:
// non-temporal stores avoid the read for ownership of each overwritten line, but lose where the caches hold both
// buffers.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace terrace::transfer {

struct CopyKernel {
  std::string_view name;
  // Requires: page-aligned buffers, size a multiple of the page size. Stores are globally visible on return.
  void (*copy)(void* to, const void* from, std::size_t size);
};

// Returns the kernels that this processor supports; memcpy is the first.
std::span<const CopyKernel> copy_kernels() noexcept;

// Returns the fastest kernel between two populated buffers. Evicts both from the caches before each trial; trials
// of the kernels are interleaved, and a kernel's time is its minimum.
const CopyKernel& fastest_copy_kernel(void* to, const void* from, std::size_t size) noexcept;

}  // namespace terrace::transfer
