// SPDX-License-Identifier: Apache-2.0
// Watches pages by userfaultfd's asynchronous modes, for the page watches `write-protect` and
// `read-write-protect`. See protection_watch.hpp.
#include "observe/pages/protection_watch.hpp"

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

// Argument of UFFDIO_RWPROTECT, which headers do not have yet.
struct ProtectRange {
  std::uint64_t start, size, mode;
};
constexpr unsigned long k_protect_accesses = _IOWR(0xAA, 0x09, ProtectRange);

// Falls back to a descriptor for user-mode faults only. The kernel resolves all faults of these modes itself, also
// those in system calls, so the privilege for kernel-mode faults is not needed.
int open_userfault_for(const Protection& protection) {
  const int file = open_userfault(protection.features);
  return file == -EPERM || file == -EACCES ? open_userfault(protection.features, true) : file;
}

bool same(const WatchedRange& one, const WatchedRange& other) {
  return one.low == other.low && one.high == other.high;
}

}  // namespace

ProtectionWatch::ProtectionWatch(const Protection& protection)
    : protection_(protection), fd_(open_userfault_for(protection)) {
  if (fd_ < 0)
    throw Error(Code::failed, std::string("userfaultfd with ") + protection.name + ": " + std::strerror(-fd_));
}

// Closing the descriptor unregisters all ranges and removes their protection. In a child of fork the descriptor
// refers to the parent's memory and is only closed.
ProtectionWatch::~ProtectionWatch() { close_if_called(fd_, "anon_inode:[userfaultfd]"); }

void ProtectionWatch::unregister_others(std::span<const WatchedRange> ranges) noexcept {
  std::size_t next = 0;
  for (const auto& old : watched_) {
    while (next < ranges.size() && ranges[next].low < old.range.low) ++next;
    if (!old.is_protected || (next < ranges.size() && same(ranges[next], old.range))) continue;
    uffdio_range gone{old.range.low, old.range.high - old.range.low};
    ioctl(fd_, UFFDIO_UNREGISTER, &gone);
  }
}

bool ProtectionWatch::protect(const WatchedRange& range) const noexcept {
  uffdio_register wanted{};
  wanted.range = {range.low, range.high - range.low};
  wanted.mode = protection_.mode;
  // Fails where another userfaultfd has the range, or where it is not all mapped.
  if (ioctl(fd_, UFFDIO_REGISTER, &wanted) != 0) return false;
  if (protection_.reads_trap) {
    ProtectRange accesses{range.low, range.high - range.low, 1};
    return ioctl(fd_, k_protect_accesses, &accesses) == 0;
  }
  // Protect populated pages only: unpopulated ones would need page tables.
  const OpenFile pagemap(k_pagemap, O_RDONLY);
  PageScan scan;
  scan.flags = k_scan_write_protect | k_scan_check_async;
  scan.start = range.low;
  scan.end = range.high;
  scan.all_of = protection_.category;
  scan.any_of = k_scan_present | k_scan_swapped;
  return ioctl(pagemap.fd(), k_scan_request, &scan) >= 0;
}

void ProtectionWatch::begin(std::span<const WatchedRange> ranges) {
  if (!process_.is_current()) return;
  unregister_others(ranges);
  watched_.clear();
  for (const auto& range : ranges) watched_.push_back({range, protect(range)});
}

void ProtectionWatch::read(std::span<const WatchedRange> ranges, std::span<std::uint64_t> used) {
  std::ranges::fill(used, k_unknown);
  if (!process_.is_current()) return;
  const OpenFile pagemap(k_pagemap, O_RDONLY);
  PageRegion found[128];
  for (std::size_t i = 0, at = 0; i < ranges.size(); ++i) {
    while (at < watched_.size() && watched_[at].range.low < ranges[i].low) ++at;
    if (at == watched_.size() || !same(watched_[at].range, ranges[i]) || !watched_[at].is_protected) continue;
    PageScan scan;
    scan.regions = reinterpret_cast<std::uint64_t>(found);
    scan.region_count = std::size(found);
    // A load from an unpopulated page maps the zero page, which is not written.
    scan.inverted = protection_.reads_trap ? 0 : k_scan_zero;
    scan.all_of = protection_.category | scan.inverted;
    scan.any_of = k_scan_present | k_scan_swapped;
    scan.return_mask = protection_.category;
    scan.end = ranges[i].high;
    std::uint64_t bytes = 0;
    for (scan.start = ranges[i].low; scan.start < scan.end; scan.start = scan.walk_end) {
      const int count = ioctl(pagemap.fd(), k_scan_request, &scan);
      if (count < 0 || scan.walk_end <= scan.start) {
        bytes = k_unknown;
        break;
      }
      for (int region = 0; region < count; ++region) bytes += found[region].end - found[region].start;
    }
    used[i] = bytes;
  }
}

std::string ProtectionWatch::unavailable_reason(const Protection& protection) {
  try {
    ProtectionWatch watch(protection);
    return try_watch(watch, "PAGEMAP_SCAN");
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace terrace::observe
