// The kernel's data access monitor, DAMON, through its files below /sys/kernel/mm/damon/admin
// (Documentation/admin-guide/mm/damon/usage.rst). A system has one set of monitors, of which somebody else may
// make use: then it is left alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "observe/page_watch.hpp"
#include "observe/pages/own_process.hpp"

namespace terrace::observe {

class KernelMonitor final : public PageWatch {
 public:
  // Throws Error{failed} where there is no monitor for addresses of processes, or it is in use.
  KernelMonitor();
  ~KernelMonitor() override;
  KernelMonitor(const KernelMonitor&) = delete;
  KernelMonitor& operator=(const KernelMonitor&) = delete;
  void begin(std::span<const WatchedRange> ranges) override;
  // Waits until the monitor has counted to the end of its interval.
  void read(std::span<const WatchedRange> ranges, std::span<std::uint64_t> used) override;

  // See PageWatchVariant::unavailable_reason.
  static std::string unavailable_reason();

  // One page of each region is looked at once in the shorter time; in the longer one looks are counted, and
  // regions are joined and split.
  static constexpr std::uint64_t k_look_us = 5000, k_count_us = 100'000;

 private:
  std::string set_up();  // what was refused; "" where all went well
  std::string watch(std::span<const WatchedRange> ranges);
  std::string put(const std::string& file, const std::string& text);
  [[nodiscard]] std::uint64_t number_in(const std::string& file) const;
  [[nodiscard]] std::string text_in(const std::string& file) const;
  void give_back() noexcept;

  OwnProcess process_;
  int lock_ = -1;
  bool ours_ = false, running_ = false;
  std::vector<WatchedRange> watched_;
};

}  // namespace terrace::observe
