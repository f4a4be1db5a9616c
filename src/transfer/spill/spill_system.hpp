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

}  // namespace terrace::transfer
