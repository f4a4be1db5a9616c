// SPDX-License-Identifier: Apache-2.0
// Reserves address ranges by mmap(2) and moves pages between them by mremap(2). The file backend of the executor
// `streamed` calls it to move the pages of an evicted chunk to a fetched one.
#include "stencil/stream/addresses.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "core/error.hpp"
#include "stencil/data/storage.hpp"

namespace terrace::stencil {

std::byte* reserve_addresses(std::size_t size, const std::string& what) {
  auto* const mapped = mmap(nullptr, size + k_huge_page, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw Error(Code::no_memory, "no addresses for " + what + ": " + std::strerror(errno));
  const auto address = reinterpret_cast<std::uintptr_t>(mapped);
  const auto before = (k_huge_page - address % k_huge_page) % k_huge_page;
  auto* const first = static_cast<std::byte*>(mapped);
  if (before > 0) munmap(first, before);
  if (before < k_huge_page) munmap(first + before + size, k_huge_page - before);
  madvise(first + before, size, MADV_HUGEPAGE);
  return first + before;
}

bool move_pages(std::byte* from, std::byte* to, std::size_t size) noexcept {
  // MREMAP_DONTUNMAP keeps the old addresses reserved; kernels before 5.7 lack it, so they are mapped again.
  if (mremap(from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to) != MAP_FAILED) return true;
  if (errno != EINVAL || mremap(from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED) return false;
  mmap(from, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return true;
}

}  // namespace terrace::stencil
