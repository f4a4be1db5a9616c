// SPDX-License-Identifier: Apache-2.0
// Watches pages by DAMON, the kernel's data access monitor, for the page watch `damon` (page_watches/damon.cpp),
// through its files below /sys/kernel/mm/damon/admin (Documentation/admin-guide/mm/damon/usage.rst). A system has
// one set of monitors: where another process uses it, the watch is unavailable.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "observe/page_watch.hpp"
#include "observe/pages/own_process.hpp"

namespace terrace::observe {

class DamonMonitor final : public PageWatch {
 public:
  // Throws Error{failed} where there is no monitor of virtual addresses, or it is in use.
  DamonMonitor();
  ~DamonMonitor() override;
  DamonMonitor(const DamonMonitor&) = delete;
  DamonMonitor& operator=(const DamonMonitor&) = delete;
  void begin(std::span<const WatchedRange> ranges) override;
  // Waits for the end of the monitor's aggregation interval.
  void read(std::span<const WatchedRange> ranges, std::span<std::uint64_t> used) override;

  // See PageWatchVariant::unavailable_reason.
  static std::string unavailable_reason();

  // The monitor checks one page of each region once a sampling interval; once an aggregation interval it sums the
  // checks, and merges and splits regions.
  static constexpr std::uint64_t k_sampling_us = 5000, k_aggregation_us = 100'000;

 private:
  std::string configure();  // returns the error; "" for success
  std::string start(std::span<const WatchedRange> ranges);
  std::string write_file(const std::string& file, const std::string& text);
  [[nodiscard]] std::uint64_t read_number(const std::string& file) const;
  [[nodiscard]] std::string read_text(const std::string& file) const;
  void release() noexcept;

  OwnProcess process_;
  int lock_fd_ = -1;
  bool owns_monitors_ = false, running_ = false;
  std::vector<WatchedRange> watched_;
};

}  // namespace terrace::observe
