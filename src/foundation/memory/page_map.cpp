// SPDX-License-Identifier: Apache-2.0
// Queries the kernel's page map for page exchanges and the pager, which move pages by userfaultfd. See
// page_map.hpp.
#include "memory/page_map.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "core/high_fd.hpp"
#include "memory/numa_node.hpp"

namespace terrace::memory {

namespace {

// <linux/fs.h>, which older headers lack.
constexpr std::uint64_t k_is_present = 1U << 3U;
constexpr std::uint64_t k_is_swapped = 1U << 4U;
constexpr std::uint64_t k_is_huge = 1U << 6U;

struct PageRegion {
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t categories;
};
struct PageScan {
  std::uint64_t size;
  std::uint64_t flags;
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t walk_end;
  std::uint64_t regions;
  std::uint64_t region_count;
  std::uint64_t max_pages;
  std::uint64_t category_inverted;
  std::uint64_t category_mask;
  std::uint64_t category_anyof_mask;
  std::uint64_t return_mask;
};
constexpr unsigned long k_scan = _IOWR('f', 16, PageScan);

// Finds the first region of pages in [begin, end) that are in one of the categories `kinds`. Returns 1 if there is
// one, 0 if not, -1 if the kernel does not tell.
int scan_first(int fd, std::uint64_t begin, std::uint64_t end, std::uint64_t kinds, PageRegion& region) noexcept {
  PageScan scan{};
  scan.size = sizeof scan;
  scan.start = begin;
  scan.end = end;
  scan.regions = reinterpret_cast<std::uint64_t>(&region);
  scan.region_count = 1;
  scan.category_anyof_mask = kinds;
  scan.return_mask = kinds;
  return fd < 0 ? -1 : ioctl(fd, k_scan, &scan);
}

}  // namespace

PageMap::PageMap() noexcept
    : fd_(move_fd_high(
          static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC)))) {}

PageMap::~PageMap() {
  if (fd_ >= 0) syscall(SYS_close, fd_);
}

bool PageMap::may_be_huge(std::uint64_t address) const noexcept {
  PageRegion region{};
  return scan_first(fd_, page_down(address), page_down(address) + k_page, k_is_huge, region) != 0;
}

std::uint64_t PageMap::next_page(std::uint64_t begin, std::uint64_t end) const noexcept {
  PageRegion region{};
  const int found = scan_first(fd_, begin, end, k_is_present | k_is_swapped, region);
  if (found >= 0) return found > 0 ? region.start : end;
  for (auto at = begin; at < end; at += k_page) {  // no PAGEMAP_SCAN: find resident pages only
    std::array<int, 1> node{};
    if (query_pages(at, node) == 0 && !is_absent(node[0])) return at;
  }
  return end;
}

}  // namespace terrace::memory
