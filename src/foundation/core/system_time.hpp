// SPDX-License-Identifier: Apache-2.0
// Reads the system's clocks and converts their times. Async-signal-safe. Used throughout Terrace.
#pragma once

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace terrace {

inline std::uint64_t to_ns(const timespec& time) noexcept {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}
inline double to_seconds(const timespec& time) noexcept {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}
constexpr double to_seconds(std::uint64_t ns) noexcept { return 1e-9 * static_cast<double>(ns); }

// Returns the time `ns` >= 0 later.
inline timespec add_ns(const timespec& time, std::int64_t ns) noexcept {
  const auto sum = time.tv_nsec + ns;
  return {time.tv_sec + sum / 1'000'000'000, sum % 1'000'000'000};
}

// Return the present time of a clock, or 0 if the system refuses. read_kernel_clock() uses the bare system call,
// because the agent interposes clock_gettime().
inline timespec read_clock(clockid_t clock) noexcept {
  timespec time{};
  return ::clock_gettime(clock, &time) == 0 ? time : timespec{};
}
inline timespec read_kernel_clock(clockid_t clock) noexcept {
  timespec time{};
  ::syscall(SYS_clock_gettime, clock, &time);
  return time;
}

}  // namespace terrace
