// Tests the conversion of ticks to times by the kernel's clock, which is read before and after them.
#include "core/tick_clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace terrace {
namespace {

Seconds read_monotonic() { return Seconds{to_seconds(read_clock(CLOCK_MONOTONIC))}; }

TEST(TickClock, TimesOfTicks_AreBetweenReadsOfTheKernelsClock) {
  constexpr Seconds k_error{1e-4};
  TickClock clock;
  Seconds last;
  for (int i = 0; i < 200'000; ++i) {
    if (i % 20'000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(i / 5'000));
    const auto before = read_monotonic();
    const auto time = clock.time_of(read_ticks());
    const auto after = read_monotonic();
    ASSERT_GE(time.value, (before - k_error).value) << i;
    ASSERT_LE(time.value, (after + k_error).value) << i;
    ASSERT_GE(time.value, last.value) << i;
    last = time;
  }
}

TEST(TickClock, TicksThatDecrease_TimesDoNot) {
  TickClock clock;
  const auto ticks = read_ticks();
  Seconds last;
  for (const auto offset : {0, 1'000'000, -1'000'000, 500'000, -2'000'000'000, 0}) {
    const auto time = clock.time_of(ticks + static_cast<std::uint64_t>(static_cast<std::int64_t>(offset)));
    EXPECT_GE(time.value, last.value);
    EXPECT_LE(time.value, read_monotonic().value + 0.01);
    last = time;
  }
}

}  // namespace
}  // namespace terrace
