// See kernel_monitor.hpp.
#include "observe/pages/kernel_monitor.hpp"

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
// Regions are split where use differs, up to so many more than there are ranges. The monitor's work goes with
// them.
constexpr std::uint64_t k_more_regions = 1000;

std::string monitor_file(const std::string& file) { return "/sys/kernel/mm/damon/admin/kdamonds/" + file; }
std::string context_file(const std::string& file) { return "0/contexts/0/" + file; }

}  // namespace

std::string KernelMonitor::put(const std::string& file, const std::string& text) {
  const auto path = monitor_file(file);
  const int error = write_small_file(path.c_str(), text.c_str());
  return error < 0 ? path + ": " + std::strerror(-error) : "";
}

std::string KernelMonitor::text_in(const std::string& file) const {
  char text[128];
  return read_small_file(monitor_file(file).c_str(), text, sizeof text) ? text : "";
}

std::uint64_t KernelMonitor::number_in(const std::string& file) const {
  const auto text = text_in(file);
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string KernelMonitor::set_up() {
  const std::string files = k_lock;
  lock_ = static_cast<int>(syscall(SYS_openat, AT_FDCWD, files.c_str(), O_RDWR | O_CLOEXEC));
  if (lock_ < 0) return files + ": " + std::strerror(errno);
  if (syscall(SYS_flock, lock_, LOCK_EX | LOCK_NB) != 0) return files + ": locked by another run of Terrace";
  const auto before = number_in("nr_kdamonds");
  // One that a program which was killed has left has stopped, and was of a process that is no more.
  const bool left = before == 1 && text_in("0/state").starts_with("off") &&
                    text_in(context_file("operations")).find("vaddr") != std::string::npos &&
                    kill(static_cast<pid_t>(number_in(context_file("targets/0/pid_target"))), 0) != 0 &&
                    errno == ESRCH;
  if (before != 0 && !left) return files + ": the system's monitors are in use";
  ours_ = true;
  for (const auto& [file, text] :
       {std::pair{std::string("nr_kdamonds"), "1"}, {std::string("0/contexts/nr_contexts"), "1"}})
    if (auto refused = put(file, text); !refused.empty()) return refused;
  const auto operations = text_in(context_file("avail_operations"));
  // Fixed ranges of a process's addresses; before Linux 6.0 there was but "vaddr", which takes ranges at first
  // only.
  if (operations.find("fvaddr") == std::string::npos)
    return monitor_file(context_file("avail_operations")) + ": no fvaddr (CONFIG_DAMON_VADDR)";
  const std::pair<std::string, std::string> settings[] = {
      {"operations", "fvaddr"},
      {"monitoring_attrs/intervals/sample_us", std::to_string(k_look_us)},
      {"monitoring_attrs/intervals/aggr_us", std::to_string(k_count_us)},
      {"targets/nr_targets", "1"},
      {"targets/0/pid_target", std::to_string(process_.pid())},
      // A scheme that does nothing with regions that were used: the kernel lists what schemes apply to.
      {"schemes/nr_schemes", "1"},
      {"schemes/0/action", "stat"},
      {"schemes/0/access_pattern/sz/max", std::to_string(k_any_size)},
      {"schemes/0/access_pattern/nr_accesses/min", "1"},
      {"schemes/0/access_pattern/nr_accesses/max", std::to_string(k_any_count)},
      {"schemes/0/access_pattern/age/max", std::to_string(k_any_count)}};
  for (const auto& [file, text] : settings)
    if (auto refused = put(context_file(file), text); !refused.empty()) return refused;
  return {};
}

KernelMonitor::KernelMonitor() {
  if (const auto refused = set_up(); !refused.empty()) {
    give_back();
    throw Error(Code::failed, refused);
  }
}

KernelMonitor::~KernelMonitor() {
  if (process_.still()) {
    give_back();
  } else if (lock_ >= 0) {
    close_if_called(lock_, k_lock);
  }
}

void KernelMonitor::give_back() noexcept {
  if (ours_) {
    if (running_) put("0/state", "off");
    put("nr_kdamonds", "0");
  }
  ours_ = running_ = false;
  if (lock_ >= 0) close_if_called(lock_, k_lock);
  lock_ = -1;
}

std::string KernelMonitor::watch(std::span<const WatchedRange> ranges) {
  if (running_) put("0/state", "off");
  running_ = false;
  watched_.assign(ranges.begin(), ranges.end());
  if (ranges.empty()) return "no range";
  const auto regions = context_file("targets/0/regions/");
  const auto most = context_file("monitoring_attrs/nr_regions/max");
  if (auto refused = put(most, std::to_string(ranges.size() + k_more_regions)); !refused.empty()) return refused;
  if (auto refused = put(regions + "nr_regions", std::to_string(ranges.size())); !refused.empty()) return refused;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto region = regions + std::to_string(i);
    if (auto refused = put(region + "/start", std::to_string(ranges[i].low)); !refused.empty()) return refused;
    if (auto refused = put(region + "/end", std::to_string(ranges[i].high)); !refused.empty()) return refused;
  }
  auto refused = put("0/state", "on");
  running_ = refused.empty();
  return refused;
}

void KernelMonitor::begin(std::span<const WatchedRange> ranges) {
  if (!process_.still()) return;
  const auto same = [](const WatchedRange& a, const WatchedRange& b) {
    return a.low == b.low && a.high == b.high;
  };
  if (!running_ || !std::ranges::equal(ranges, watched_, same)) watch(ranges);
}

void KernelMonitor::read(std::span<const WatchedRange> ranges, std::span<std::uint64_t> used) {
  std::ranges::fill(used, k_unknown);
  if (!running_ || !process_.still() || !put("0/state", "update_schemes_tried_regions").empty()) return;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto covers = [&](const WatchedRange& range) {
      return range.low <= ranges[i].low && ranges[i].high <= range.high;
    };
    if (std::ranges::any_of(watched_, covers)) used[i] = 0;
  }
  const auto listed = context_file("schemes/0/tried_regions/");
  for (std::uint64_t number = 0;; ++number) {
    const auto region = listed + std::to_string(number);
    const auto low = number_in(region + "/start");
    const auto high = number_in(region + "/end");
    if (high == 0) break;
    auto range = std::ranges::upper_bound(ranges, low, {}, &WatchedRange::high);
    for (; range != ranges.end() && range->low < high; ++range) {
      auto& bytes = used[static_cast<std::size_t>(range - ranges.begin())];
      if (bytes != k_unknown) bytes += std::min(high, range->high) - std::max(low, range->low);
    }
  }
  put("0/state", "clear_schemes_tried_regions");
}

std::string KernelMonitor::unavailable_reason() {
  try {
    KernelMonitor monitor;
    const TrialPages pages(64);
    const WatchedRange ranges[] = {pages.range()};
    auto refused = monitor.watch(ranges);
    char others[4];
    // Some kernels begin with a monitor of their own, which suffers no other.
    constexpr const char* k_own = "/sys/module/damon_stat/parameters/enabled";
    if (!refused.empty() && read_small_file(k_own, others, sizeof others) && others[0] == 'Y')
      refused += std::string(" (") + k_own + " is Y)";
    return refused;
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace terrace::observe
