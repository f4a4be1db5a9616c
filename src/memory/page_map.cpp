// See page_map.hpp.
#include "memory/page_map.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/rounding.hpp"

namespace terrace::memory {

namespace {

// <linux/fs.h>, which older headers lack.
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

}  // namespace

PageMap::PageMap() noexcept
    : file_(static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC))) {}

PageMap::~PageMap() {
  if (file_ >= 0) syscall(SYS_close, file_);
}

bool PageMap::may_be_huge(std::uint64_t address) const noexcept {
  PageRegion region{};
  PageScan scan{};
  scan.size = sizeof scan;
  scan.start = page_down(address);
  scan.end = scan.start + k_page;
  scan.regions = reinterpret_cast<std::uint64_t>(&region);
  scan.region_count = 1;
  scan.category_mask = k_is_huge;
  scan.return_mask = k_is_huge;
  return file_ < 0 || ioctl(file_, k_scan, &scan) != 0;  // how many regions of huge pages it has found
}

}  // namespace terrace::memory
