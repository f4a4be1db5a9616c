// Pages that trap once when they are used, and which the kernel then lets go by itself (userfaultfd's asynchronous
// modes): what has not trapped was not used. Who uses a page waits for one fault in a window, no thread of ours
// has to answer. A range can be in one userfaultfd alone: while it is watched, nobody moves its pages by another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "observe/page_watch.hpp"
#include "observe/pages/own_process.hpp"

namespace terrace::observe {

// Which accesses trap, as userfaultfd(2) and PAGEMAP_SCAN call it.
struct Protection {
  const char* name;        // for messages
  std::uint64_t features;  // asked of userfaultfd
  std::uint64_t mode;      // of registered ranges
  std::uint64_t category;  // what the scan calls a page that has trapped or never was protected
  bool reads_trap;
};

// Stores alone, since Linux 6.7.
inline constexpr Protection k_write_protection{"UFFD_FEATURE_WP_ASYNC", 1U << 15U, 1U << 1U, 1U << 1U, false};
// Loads and stores: in Linux's development tree since 2026.
inline constexpr Protection k_access_protection{"UFFD_FEATURE_RWP_ASYNC", 3U << 17U, 1U << 3U, 1U << 9U, true};

class ProtectedPages final : public PageWatch {
 public:
  // Throws Error{failed} where the kernel has no such mode or this process may not.
  explicit ProtectedPages(const Protection& protection);
  ~ProtectedPages() override;
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
  void forget_others(std::span<const WatchedRange> ranges) noexcept;

  Protection protection_;
  OwnProcess process_;
  int file_;
  std::vector<Watched> watched_;  // ascending, as the ranges of `begin`
};

}  // namespace terrace::observe
