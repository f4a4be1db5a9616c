// SPDX-License-Identifier: Apache-2.0
// Converts between times of the system's clocks, as a program passes them, and its virtual clock. Used by the
// interposed clocks, and by timed waits for locks and futexes.
#pragma once

#include <time.h>

#include <cstdint>

namespace terrace::agent {

// Returns whether the C library would accept the time. Others are passed to it, for its error.
[[nodiscard]] inline bool is_valid(const timespec* time) {
  return time && time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < 1'000'000'000;
}
// Converts a time of a system clock to virtual seconds since the program started.
[[nodiscard]] double program_seconds(clockid_t clock, const timespec& time) noexcept;
// Returns the virtual seconds since the program started.
[[nodiscard]] double program_now() noexcept;

}  // namespace terrace::agent
