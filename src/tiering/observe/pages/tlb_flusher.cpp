// SPDX-License-Identifier: Apache-2.0
// Flushes the process's TLB entries by mprotect(2), for the page watches that read accessed bits. See
// tlb_flusher.hpp.
#include "observe/pages/tlb_flusher.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace terrace::observe {

namespace {

// A range of so many pages that the kernel flushes the whole TLB instead of single pages: more than 33 on x86; on
// Arm processors that flush a range by one instruction, more than 2^21.
#ifdef __aarch64__
constexpr std::uint64_t k_flush_pages = (1ULL << 21U) + 1;
#else
constexpr std::uint64_t k_flush_pages = 1024;
#endif

}  // namespace

TlbFlusher::TlbFlusher() noexcept : page_(static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))) {
  // A raw system call: the program's mmap may be interposed. Guard pages on both sides keep the mapping from being
  // merged.
  const auto whole = (k_flush_pages + 2) * page_;
  const auto map =
      syscall(SYS_mmap, nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
  if (map == -1) return;
  map_ = reinterpret_cast<char*>(map);  // NOLINT(performance-no-int-to-ptr)
  syscall(SYS_madvise, map_, whole, MADV_NOHUGEPAGE);
}

TlbFlusher::~TlbFlusher() {
  if (map_) syscall(SYS_munmap, map_, (k_flush_pages + 2) * page_);
}

void TlbFlusher::flush() noexcept {
  if (!map_) return;
  // Only the first and the last page are populated. To write-protect them, the kernel flushes the range between.
  char* const first = map_ + page_;
  char* const last = first + (k_flush_pages - 1) * page_;
  if (syscall(SYS_mprotect, first, k_flush_pages * page_, PROT_READ | PROT_WRITE) != 0) return;
  *static_cast<volatile char*>(first) = 1;
  *static_cast<volatile char*>(last) = 1;
  syscall(SYS_mprotect, first, k_flush_pages * page_, PROT_READ);
}

}  // namespace terrace::observe
