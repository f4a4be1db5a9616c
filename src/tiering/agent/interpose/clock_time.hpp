// Between the times that a program names and its own virtual clock.
#pragma once

#include <time.h>

#include <cstdint>

namespace terrace::agent {

// A time that the C library would accept.
[[nodiscard]] inline bool is_valid(const timespec* time) {
  return time && time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < 1'000'000'000;
}
// What the program's clock (virtual seconds since it began) shows at a time by one of the system's clocks.
[[nodiscard]] double program_seconds(clockid_t clock, const timespec& time) noexcept;
// What it shows now.
[[nodiscard]] double program_now() noexcept;

}  // namespace terrace::agent
