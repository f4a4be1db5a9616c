// See protected_pages.hpp.
#include "observe/pages/protected_pages.hpp"

#include <linux/userfaultfd.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "core/userfault_file.hpp"
#include "observe/pages/pagemap.hpp"

namespace terrace::observe {

namespace {

constexpr const char* k_pagemap = "/proc/self/pagemap";

// As userfaultfd's UFFDIO_RWPROTECT takes it, which headers do not have yet.
struct ProtectRange {
  std::uint64_t start, size, mode;
};
constexpr unsigned long k_protect_accesses = _IOWR(0xAA, 0x09, ProtectRange);

// The kernel resolves all faults of these modes itself, also those inside system calls: who may not have a file
// that traps those can do without.
int open_for(const Protection& protection) {
  const int file = open_userfault(protection.features);
  return file == -EPERM || file == -EACCES ? open_userfault(protection.features, true) : file;
}

bool same(const WatchedRange& one, const WatchedRange& other) {
  return one.low == other.low && one.high == other.high;
}

}  // namespace

ProtectedPages::ProtectedPages(const Protection& protection)
    : protection_(protection), file_(open_for(protection)) {
  if (file_ < 0)
    throw Error(Code::failed, std::string("userfaultfd with ") + protection.name + ": " + std::strerror(-file_));
}

// Closed, the kernel unregisters all ranges and lifts their protection. A child's copy of the file is of its
// parent's memory: it closes it and touches nothing.
ProtectedPages::~ProtectedPages() { close_if_called(file_, "anon_inode:[userfaultfd]"); }

void ProtectedPages::forget_others(std::span<const WatchedRange> ranges) noexcept {
  std::size_t next = 0;
  for (const auto& old : watched_) {
    while (next < ranges.size() && ranges[next].low < old.range.low) ++next;
    if (!old.is_protected || (next < ranges.size() && same(ranges[next], old.range))) continue;
    uffdio_range gone{old.range.low, old.range.high - old.range.low};
    ioctl(file_, UFFDIO_UNREGISTER, &gone);
  }
}

bool ProtectedPages::protect(const WatchedRange& range) const noexcept {
  uffdio_register wanted{};
  wanted.range = {range.low, range.high - range.low};
  wanted.mode = protection_.mode;
  // Refused where another userfaultfd has the range, or where it is not all mapped.
  if (ioctl(file_, UFFDIO_REGISTER, &wanted) != 0) return false;
  if (protection_.reads_trap) {
    ProtectRange accesses{range.low, range.high - range.low, 1};
    return ioctl(file_, k_protect_accesses, &accesses) == 0;
  }
  // What is there, alone: to protect what was never touched would need page tables for it.
  const OpenFile pagemap(k_pagemap, O_RDONLY);
  PageScan scan;
  scan.flags = k_scan_write_protect | k_scan_check_async;
  scan.start = range.low;
  scan.end = range.high;
  scan.all_of = protection_.category;
  scan.any_of = k_scan_present | k_scan_swapped;
  return ioctl(pagemap.file(), k_scan_request, &scan) >= 0;
}

void ProtectedPages::begin(std::span<const WatchedRange> ranges) {
  if (!process_.still()) return;
  forget_others(ranges);
  watched_.clear();
  for (const auto& range : ranges) watched_.push_back({range, protect(range)});
}

void ProtectedPages::read(std::span<const WatchedRange> ranges, std::span<std::uint64_t> used) {
  std::ranges::fill(used, k_unknown);
  if (!process_.still()) return;
  const OpenFile pagemap(k_pagemap, O_RDONLY);
  PageRegion found[128];
  for (std::size_t i = 0, at = 0; i < ranges.size(); ++i) {
    while (at < watched_.size() && watched_[at].range.low < ranges[i].low) ++at;
    if (at == watched_.size() || !same(watched_[at].range, ranges[i]) || !watched_[at].is_protected) continue;
    PageScan scan;
    scan.regions = reinterpret_cast<std::uint64_t>(found);
    scan.region_count = std::size(found);
    // A page that was only read where nothing was is the kernel's page of zeros, and not written.
    scan.inverted = protection_.reads_trap ? 0 : k_scan_zero;
    scan.all_of = protection_.category | scan.inverted;
    scan.any_of = k_scan_present | k_scan_swapped;
    scan.told = protection_.category;
    scan.end = ranges[i].high;
    std::uint64_t bytes = 0;
    for (scan.start = ranges[i].low; scan.start < scan.end; scan.start = scan.walk_end) {
      const int count = ioctl(pagemap.file(), k_scan_request, &scan);
      if (count < 0 || scan.walk_end <= scan.start) {
        bytes = k_unknown;
        break;
      }
      for (int region = 0; region < count; ++region) bytes += found[region].end - found[region].start;
    }
    used[i] = bytes;
  }
}

std::string ProtectedPages::unavailable_reason(const Protection& protection) {
  try {
    ProtectedPages watch(protection);
    return try_watch(watch, "PAGEMAP_SCAN");
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace terrace::observe
