// SPDX-License-Identifier: Apache-2.0
// Controls the kernel's monitor DAMON by its sysfs files, for the page watch `damon`. See damon_monitor.hpp.
#include "observe/pages/damon_monitor.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>

#include "core/error.hpp"
#include "core/small_file.hpp"

namespace terrace::observe {

namespace {

constexpr const char* k_lock = "/sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds";
constexpr std::uint64_t k_any_size = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t k_any_count = std::numeric_limits<std::uint32_t>::max();
// Maximum number of regions beyond that of the ranges. The kernel splits regions where use differs; the monitor's
// work grows with their number.
constexpr std::uint64_t k_max_extra_regions = 1000;

std::string monitor_file(const std::string& file) { return "/sys/kernel/mm/damon/admin/kdamonds/" + file; }
std::string context_file(const std::string& file) { return "0/contexts/0/" + file; }

}  // namespace

std::string DamonMonitor::write_file(const std::string& file, const std::string& text) {
  const auto path = monitor_file(file);
  const int error = write_small_file(path.c_str(), text.c_str());
  return error < 0 ? path + ": " + std::strerror(-error) : "";
}

std::string DamonMonitor::read_text(const std::string& file) const {
  char text[128];
  return read_small_file(monitor_file(file).c_str(), text, sizeof text) ? text : "";
}

std::uint64_t DamonMonitor::read_number(const std::string& file) const {
  const auto text = read_text(file);
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Reserves the system's monitors, and configures one for this process. Returns the error; "" for success.
std::string DamonMonitor::configure() {
  const std::string files = k_lock;
  lock_fd_ = static_cast<int>(syscall(SYS_openat, AT_FDCWD, files.c_str(), O_RDWR | O_CLOEXEC));
  if (lock_fd_ < 0) return files + ": " + std::strerror(errno);
  if (syscall(SYS_flock, lock_fd_, LOCK_EX | LOCK_NB) != 0) return files + ": locked by another run of Terrace";
  const auto before = read_number("nr_kdamonds");
  // A monitor left behind by a killed program is off, and its target process does not exist any more.
  const bool is_stale = before == 1 && read_text("0/state").starts_with("off") &&
                        read_text(context_file("operations")).find("vaddr") != std::string::npos &&
                        kill(static_cast<pid_t>(read_number(context_file("targets/0/pid_target"))), 0) != 0 &&
                        errno == ESRCH;
  if (before != 0 && !is_stale) return files + " is not 0: another program uses the system's monitors";
  owns_monitors_ = true;
  for (const auto& [file, text] :
       {std::pair{std::string("nr_kdamonds"), "1"}, {std::string("0/contexts/nr_contexts"), "1"}})
    if (auto refused = write_file(file, text); !refused.empty()) return refused;
  const auto operations = read_text(context_file("avail_operations"));
  // "fvaddr": fixed virtual ranges. Before Linux 6.0 there was only "vaddr", which sets ranges at the start only.
  if (operations.find("fvaddr") == std::string::npos)
    return monitor_file(context_file("avail_operations")) + ": no fvaddr (CONFIG_DAMON_VADDR)";
  const std::pair<std::string, std::string> settings[] = {
      {"operations", "fvaddr"},
      {"monitoring_attrs/intervals/sample_us", std::to_string(k_sampling_us)},
      {"monitoring_attrs/intervals/aggr_us", std::to_string(k_aggregation_us)},
      {"targets/nr_targets", "1"},
      {"targets/0/pid_target", std::to_string(process_.pid())},
      // A scheme without action on used regions, because the kernel lists the regions to which schemes apply.
      {"schemes/nr_schemes", "1"},
      {"schemes/0/action", "stat"},
      {"schemes/0/access_pattern/sz/max", std::to_string(k_any_size)},
      {"schemes/0/access_pattern/nr_accesses/min", "1"},
      {"schemes/0/access_pattern/nr_accesses/max", std::to_string(k_any_count)},
      {"schemes/0/access_pattern/age/max", std::to_string(k_any_count)}};
  for (const auto& [file, text] : settings)
    if (auto refused = write_file(context_file(file), text); !refused.empty()) return refused;
  return {};
}

DamonMonitor::DamonMonitor() {
  if (const auto refused = configure(); !refused.empty()) {
    release();
    throw Error(Code::failed, refused);
  }
}

DamonMonitor::~DamonMonitor() {
  if (process_.is_current()) {
    release();
  } else if (lock_fd_ >= 0) {
    close_if_called(lock_fd_, k_lock);
  }
}

// Stops the monitor, and returns the system's monitors and the lock.
void DamonMonitor::release() noexcept {
  if (owns_monitors_) {
    if (running_) write_file("0/state", "off");
    write_file("nr_kdamonds", "0");
  }
  owns_monitors_ = running_ = false;
  if (lock_fd_ >= 0) close_if_called(lock_fd_, k_lock);
  lock_fd_ = -1;
}

// Starts the monitor on these ranges. Returns the error; "" for success.
std::string DamonMonitor::start(std::span<const WatchedRange> ranges) {
  if (running_) write_file("0/state", "off");
  running_ = false;
  watched_.assign(ranges.begin(), ranges.end());
  if (ranges.empty()) return "no range";
  const auto regions = context_file("targets/0/regions/");
  const auto max_regions = context_file("monitoring_attrs/nr_regions/max");
  if (auto refused = write_file(max_regions, std::to_string(ranges.size() + k_max_extra_regions));
      !refused.empty())
    return refused;
  if (auto refused = write_file(regions + "nr_regions", std::to_string(ranges.size())); !refused.empty())
    return refused;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto region = regions + std::to_string(i);
    if (auto refused = write_file(region + "/start", std::to_string(ranges[i].low)); !refused.empty())
      return refused;
    if (auto refused = write_file(region + "/end", std::to_string(ranges[i].high)); !refused.empty())
      return refused;
  }
  auto refused = write_file("0/state", "on");
  running_ = refused.empty();
  return refused;
}

void DamonMonitor::begin(std::span<const WatchedRange> ranges) {
  if (!process_.is_current()) return;
  const auto same = [](const WatchedRange& a, const WatchedRange& b) {
    return a.low == b.low && a.high == b.high;
  };
  if (!running_ || !std::ranges::equal(ranges, watched_, same)) start(ranges);
}

void DamonMonitor::read(std::span<const WatchedRange> ranges, std::span<std::uint64_t> used) {
  std::ranges::fill(used, k_unknown);
  if (!running_ || !process_.is_current() || !write_file("0/state", "update_schemes_tried_regions").empty())
    return;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto covers = [&](const WatchedRange& range) {
      return range.low <= ranges[i].low && ranges[i].high <= range.high;
    };
    if (std::ranges::any_of(watched_, covers)) used[i] = 0;
  }
  const auto listed = context_file("schemes/0/tried_regions/");
  for (std::uint64_t number = 0;; ++number) {
    const auto region = listed + std::to_string(number);
    const auto low = read_number(region + "/start");
    const auto high = read_number(region + "/end");
    if (high == 0) break;
    auto range = std::ranges::upper_bound(ranges, low, {}, &WatchedRange::high);
    for (; range != ranges.end() && range->low < high; ++range) {
      auto& bytes = used[static_cast<std::size_t>(range - ranges.begin())];
      if (bytes != k_unknown) bytes += std::min(high, range->high) - std::max(low, range->low);
    }
  }
  write_file("0/state", "clear_schemes_tried_regions");
}

std::string DamonMonitor::unavailable_reason() {
  try {
    DamonMonitor monitor;
    const TrialPages pages(64);
    const WatchedRange ranges[] = {pages.range()};
    auto refused = monitor.start(ranges);
    char others[4];
    // Some kernels start a monitor of their own, which excludes others.
    constexpr const char* k_own = "/sys/module/damon_stat/parameters/enabled";
    if (!refused.empty() && read_small_file(k_own, others, sizeof others) && others[0] == 'Y')
      refused += std::string(" (") + k_own + " is Y)";
    return refused;
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace terrace::observe
