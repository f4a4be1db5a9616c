// See tlb_flusher.hpp.
#include "observe/pages/tlb_flusher.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace terrace::observe {

namespace {

// So many pages at once that kernels drop everything instead of these alone: more than 33 on x86; on Arm's
// processors that can drop a range by one instruction, more than 2^21.
#ifdef __aarch64__
constexpr std::uint64_t k_dropped_pages = (1ULL << 21U) + 1;
#else
constexpr std::uint64_t k_dropped_pages = 1024;
#endif

}  // namespace

TlbFlusher::TlbFlusher() noexcept : page_(static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))) {
  // The kernel itself: the program's mmap may be Terrace's. Fences on both sides, so that it joins no other
  // mapping.
  const auto whole = (k_dropped_pages + 2) * page_;
  const auto map =
      syscall(SYS_mmap, nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
  if (map == -1) return;
  map_ = reinterpret_cast<char*>(map);  // NOLINT(performance-no-int-to-ptr)
  syscall(SYS_madvise, map_, whole, MADV_NOHUGEPAGE);
}

TlbFlusher::~TlbFlusher() {
  if (map_) syscall(SYS_munmap, map_, (k_dropped_pages + 2) * page_);
}

void TlbFlusher::drop() noexcept {
  if (!map_) return;
  // The first and the last page alone are there. To forbid writing to them, the kernel drops all between.
  char* const first = map_ + page_;
  char* const last = first + (k_dropped_pages - 1) * page_;
  if (syscall(SYS_mprotect, first, k_dropped_pages * page_, PROT_READ | PROT_WRITE) != 0) return;
  *static_cast<volatile char*>(first) = 1;
  *static_cast<volatile char*>(last) = 1;
  syscall(SYS_mprotect, first, k_dropped_pages * page_, PROT_READ);
}

}  // namespace terrace::observe
