// SPDX-License-Identifier: Apache-2.0
// Finds the pages that a program without hooks uses, by userfaultfd's asynchronous modes. The methods
// `write-protect` and `read-write-protect` of page_watches/, which the page-use monitor of the agent calls in each
// window of time, are based on it. A protected page faults once when it is used, and the kernel resolves the
// fault itself; a page without a fault was not used. A thread pays one fault a page and window, and no thread of
// the runtime has to resolve it. A range can be registered with one userfaultfd only: a watched range's pages
// cannot be moved by another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "observe/page_watch.hpp"
#include "observe/pages/own_process.hpp"

namespace terrace::observe {

// Describes which accesses fault, in the terms of userfaultfd(2) and PAGEMAP_SCAN.
struct Protection {
  const char* name;        // for messages
  std::uint64_t features;  // of UFFDIO_API
  std::uint64_t mode;      // of UFFDIO_REGISTER
  std::uint64_t category;  // of PAGEMAP_SCAN: a page that has faulted or was not protected
  bool reads_trap;
};

// Stores alone, since Linux 6.7.
inline constexpr Protection k_write_protection{"UFFD_FEATURE_WP_ASYNC", 1U << 15U, 1U << 1U, 1U << 1U, false};
// Loads and stores: in Linux's development tree since 2026.
inline constexpr Protection k_access_protection{"UFFD_FEATURE_RWP_ASYNC", 3U << 17U, 1U << 3U, 1U << 9U, true};

class ProtectionWatch final : public PageWatch {
 public:
  // Throws Error{failed} where the kernel does not have the mode or does not permit it.
  explicit ProtectionWatch(const Protection& protection);
  ~ProtectionWatch() override;
  void begin(std::span<const WatchedRange> ranges) override;
  void read(std::span<const WatchedRange> ranges, std::span<std::uint64_t> used) override;

  // See PageWatchVariant::unavailable_reason.
  static std::string unavailable_reason(const Protection& protection);

 private:
  struct Watched {
    WatchedRange range;
    bool is_protected;
  };
  bool protect(const WatchedRange& range) const noexcept;
  void unregister_others(std::span<const WatchedRange> ranges) noexcept;

  Protection protection_;
  OwnProcess process_;
  int fd_;
  std::vector<Watched> watched_;  // ascending, as the ranges of `begin`
};

}  // namespace terrace::observe
