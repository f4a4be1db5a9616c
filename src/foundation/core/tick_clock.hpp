// SPDX-License-Identifier: Apache-2.0
// Reads the processor's tick counter, which takes half as long as the kernel's clock, and converts its values into
// times of that clock. The agent measures MPI calls by it.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>

#include "core/system_time.hpp"
#include "core/units.hpp"

namespace terrace {

// Returns the ticks of the processor's clock. They have one rate, and are the same on all cores, wherever the
// kernel's clock is based on them.
inline std::uint64_t read_ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
#error "read_ticks() is not written for this processor"
#endif
}

// Converts ticks that were read just now into seconds of CLOCK_MONOTONIC. Reads that clock every 10 ms, so that
// times are within some nanoseconds of it, and never decrease. Not thread-safe.
class TickClock {
 public:
  [[nodiscard]] Seconds time_of(std::uint64_t ticks) noexcept {
    // Ticks before base_ticks_ wrap around.
    if (ticks - base_ticks_ >= valid_ticks_) synchronise();
    const auto since = static_cast<std::int64_t>(ticks - base_ticks_);
    last_ = std::max(last_, base_ + static_cast<double>(since) * tick_);
    return last_;
  }

 private:
  static constexpr Seconds k_valid{0.01};
  static constexpr Seconds k_min_baseline{1e-3};  // to compute the rate from

  // Reads both clocks. The thread may lose the processor in between: of three tries, the shortest one counts.
  void synchronise() noexcept {
    auto shortest = ~std::uint64_t{0};
    for (int i = 0; i < 3; ++i) {
      const auto before = read_ticks();
      const Seconds time{to_seconds(read_clock(CLOCK_MONOTONIC))};
      const auto after = read_ticks();
      if (after - before >= shortest) continue;
      shortest = after - before;
      base_ticks_ = before + shortest / 2;
      base_ = time;
    }
    if (first_ticks_ == 0 || base_ticks_ <= first_ticks_) {
      first_ticks_ = base_ticks_;
      first_ = base_;
    }
    const auto passed = base_ - first_;
    if (passed < k_min_baseline) return;
    tick_ = passed / static_cast<double>(base_ticks_ - first_ticks_);
    valid_ticks_ = static_cast<std::uint64_t>(k_valid / tick_);
  }

  std::uint64_t first_ticks_ = 0, base_ticks_ = 0;
  Seconds first_, base_, last_;
  Seconds tick_;
  std::uint64_t valid_ticks_ = 0;  // after base_ticks_; 0: the rate is not known yet
};

}  // namespace terrace
