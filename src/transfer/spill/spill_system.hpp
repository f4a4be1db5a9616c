// What spilled memory asks of the system in several places.
#pragma once

#include <time.h>

#include <cstdint>

namespace terrace::transfer {

inline std::uint64_t steady_ns() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

inline void* memory_at(std::uint64_t address) noexcept {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

// Bytes that the process has in memory, and of those what is of files; 0 where that is not known.
struct Resident {
  std::uint64_t all = 0, of_files = 0;
};
[[nodiscard]] Resident resident() noexcept;

// The calling thread has a table of files of its own from now on, with nothing of the program's but what it is to
// write messages to.
void have_own_files() noexcept;

}  // namespace terrace::transfer
