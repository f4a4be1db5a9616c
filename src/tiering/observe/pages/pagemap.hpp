// SPDX-License-Identifier: Apache-2.0
// Reads /proc/self/pagemap for the page watches: a word for each page of the address space
// (Documentation/admin-guide/mm/pagemap.rst), and declares the ioctl that scans it (PAGEMAP_SCAN, since Linux 6.7,
// which the headers of Debian 12 lack).
#pragma once

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "observe/page_watch.hpp"

namespace terrace::observe {

inline constexpr std::uint64_t k_page_present = 1ULL << 63U;
inline constexpr std::uint64_t k_page_swapped = 1ULL << 62U;
inline constexpr std::uint64_t k_page_soft_dirty = 1ULL << 55U;
inline constexpr std::uint64_t k_page_frame = (1ULL << 55U) - 1;  // of a present page; 0 without the privilege

// Owns a file descriptor, close-on-exec.
class OpenFile {
 public:
  OpenFile(const char* path, int flags) noexcept
      : fd_(static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC))) {}
  ~OpenFile() {
    if (fd_ >= 0) syscall(SYS_close, fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  int fd_;
};

// Calls each(address, word) for every page of a range, in order. Returns false where pagemap cannot be read.
template <class Each>
bool for_each_page(const OpenFile& pagemap, const WatchedRange& range, std::uint64_t page, Each each) {
  std::uint64_t words[512];
  for (auto at = range.low; at < range.high;) {
    const auto wanted = std::min<std::uint64_t>(std::size(words), (range.high - at) / page);
    if (wanted == 0) break;
    const auto got = syscall(SYS_pread64, pagemap.fd(), words, wanted * sizeof *words, at / page * sizeof *words);
    if (got <= 0) return false;
    const auto count = static_cast<std::uint64_t>(got) / sizeof *words;
    for (std::uint64_t i = 0; i < count; ++i) each(at + i * page, words[i]);
    at += count * page;
    if (count == 0) return false;
  }
  return true;
}

struct PageRegion {
  std::uint64_t start, end, categories;
};

struct PageScan {
  std::uint64_t size = sizeof(PageScan);
  std::uint64_t flags = 0;
  std::uint64_t start = 0, end = 0, walk_end = 0;
  std::uint64_t regions = 0, region_count = 0, max_pages = 0;
  std::uint64_t inverted = 0, all_of = 0, any_of = 0, return_mask = 0;
};

inline constexpr std::uint64_t k_scan_write_protect = 1U << 0U;  // PM_SCAN_WP_MATCHING
inline constexpr std::uint64_t k_scan_check_async = 1U << 1U;    // PM_SCAN_CHECK_WPASYNC
inline constexpr std::uint64_t k_scan_written = 1U << 1U;        // PAGE_IS_WRITTEN
inline constexpr std::uint64_t k_scan_present = 1U << 3U;        // PAGE_IS_PRESENT
inline constexpr std::uint64_t k_scan_swapped = 1U << 4U;        // PAGE_IS_SWAPPED
inline constexpr std::uint64_t k_scan_zero = 1U << 5U;           // PAGE_IS_PFNZERO
inline constexpr std::uint64_t k_scan_accessed = 1U << 9U;       // PAGE_IS_ACCESSED
inline constexpr unsigned long k_scan_request = _IOWR('f', 16, PageScan);

}  // namespace terrace::observe
