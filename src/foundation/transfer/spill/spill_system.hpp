// What spilled memory asks of the system in several places.
#pragma once

#include <time.h>

#include <cstdint>

#include "core/units.hpp"

namespace terrace::transfer {

inline constexpr int k_page_out = 21;  // MADV_PAGEOUT, since Linux 5.4

inline std::uint64_t steady_ns() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

// Processor time of a thread of this process; 0 where the system does not say.
inline std::uint64_t processor_ns(std::uint32_t thread) noexcept {
  timespec time{};
  // Linux's number for that clock: 6 is "of a thread, exactly".
  const auto clock = static_cast<clockid_t>(~thread << 3 | 6U);
  if (clock_gettime(clock, &time) != 0) return 0;
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

// Of that, what was not in the kernel; as the system counts it, to ten milliseconds or so.
[[nodiscard]] std::uint64_t user_ns(std::uint32_t thread) noexcept;

inline void* memory_at(std::uint64_t address) noexcept {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

// Bytes that the process has in memory, and of those what is of files; 0 where that is not known.
struct Resident {
  std::uint64_t all = 0, of_files = 0;
};
[[nodiscard]] Resident resident() noexcept;

// Pages that this process has had read from a disk, by touching them.
[[nodiscard]] std::uint64_t pages_read() noexcept;

// Processor time of the process, of threads that have ended as well, but for the calling thread's.
[[nodiscard]] Seconds program_time() noexcept;

// To the user: what cannot be over a file takes more than the memory.
void say_too_small(Bytes memory, Bytes taken, void (*say)(const char* sentence));

// The calling thread has a table of files of its own from now on, with nothing of the program's but what it is to
// write messages to.
void have_own_files() noexcept;

}  // namespace terrace::transfer
