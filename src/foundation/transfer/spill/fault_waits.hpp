// SPDX-License-Identifier: Apache-2.0
// Estimates how long the program's threads wait in page faults that the kernel serves itself, for blocks
// that it pages from a file. The threads of both spill engines (spill.hpp, paged_spill.hpp) call it.
//
// No kernel counter gives this. Delay accounting (taskstats; field 42 of /proc/PID/stat) is off unless an
// administrator enables it, and includes reads by system calls. Major faults (getrusage(2)) omit threads
// that wait for a page under read-ahead. /proc/self/task/TID/syscall needs no privilege: it begins with -1
// for a thread that is blocked outside of a system call, thus in a page fault. All threads (a part, if
// there are many) are sampled at a regular interval, and each one found so is charged the interval. The
// estimate is unbiased; the standard deviation of n findings is sqrt(n).
//
// Not thread-safe. Allocates nothing.
#pragma once

#include <cstdint>
#include <optional>

namespace terrace::transfer {

class FaultWaits {
 public:
  // Returns whether the thread is known to wait for something else, and is not to be counted.
  using IsExcluded = bool (*)(const void* context, std::uint32_t thread);

  // Returns whether the next sample is due.
  [[nodiscard]] bool is_due(std::uint64_t now_ns) const noexcept {
    return now_ns - sampled_at_ns_ >= k_interval_ns;
  }
  // Returns the milliseconds until the next sample, at least 1: the time-out of the pager's poll(2).
  [[nodiscard]] int due_in_ms(std::uint64_t now_ns) const noexcept;
  // Samples the threads. Returns their total waiting time since the last sample, in nanoseconds; 0 for the first
  // one and the first after pause().
  std::uint64_t sample(std::uint64_t now_ns, IsExcluded is_excluded = nullptr,
                       const void* context = nullptr) noexcept;
  // Suspends the estimate until the next sample.
  void pause() noexcept { sampled_at_ns_ = 0; }
  // Returns whether /proc/self/task/TID/syscall is readable, which the estimate needs.
  [[nodiscard]] static bool is_supported() noexcept;
  // Returns whether the line, as in /proc/TID/syscall, is that of a thread in a page fault.
  [[nodiscard]] static bool is_page_fault(const char* line) noexcept;

 private:
  static constexpr std::uint64_t k_interval_ns = 10'000'000;
  static constexpr std::uint32_t k_max_sampled_threads = 64;  // per sample; of more, every n-th in rotation

  std::uint64_t sampled_at_ns_ = 0;  // 0: no sample yet
  std::uint32_t num_threads_ = 0;
  std::uint32_t round_ = 0;
};

}  // namespace terrace::transfer
