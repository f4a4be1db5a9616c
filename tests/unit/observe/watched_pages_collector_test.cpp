// Tests the phases that result from windows of real time, by a clock that the test advances.
#include "observe/collecting/watched_pages_collector.hpp"

#include <gtest/gtest.h>

#include "collected_program.hpp"

namespace terrace::observe {
namespace {

class WoundClock final : public Clock {
 public:
  Seconds now() override { return time; }
  void charge(Seconds) override {}
  Seconds time;
};

constexpr std::uint32_t k_mib = 1 << 20;

struct WatchedPages : testing::Test {
  WatchedPages() {
    for (ObjectId object = 0; object < 2; ++object)
      for (std::uint32_t i = 0; i < 4; ++i)
        chunks.add((std::uint64_t{object + 1} << 32) + std::uint64_t{i} * k_mib, k_mib, object, 0, 1);
    collector.on_loop_begin();
    collector.begin_iteration(0);
  }
  void phase(const char* name, double seconds) {
    collector.begin_phase(name);
    clock.time += Seconds{seconds};
    collector.end_phase(Seconds{seconds});
  }
  static double bytes_of(const Phase& phase, ObjectId object) {
    double bytes = 0;
    for (const auto& cell : phase.cells)
      if (cell.chunk / 4 == object) bytes += 64 * cell.read_lines;
    return bytes;
  }

  machine::Machine machine = example_machine();
  memory::ChunkTable chunks;
  WoundClock clock;
  WatchedPagesCollector collector{machine, 0, 1, chunks, clock, Seconds{0.01}};
};

TEST_F(WatchedPages, WindowOverPhases_SharedByTime) {
  phase("a", 1);
  phase("b", 3);
  // From the middle of the first to the middle of the second: a quarter of it in "a".
  collector.add({0.5, 2.5, {{0, 8e6}}});
  const auto phases = collector.take_iteration().phases;
  // 8 MB in 2 s, in each as fast: so in phases of 1 and 3 s.
  EXPECT_NEAR(bytes_of(phases.at(0), 0), 4e6, 1);
  EXPECT_NEAR(bytes_of(phases.at(1), 0), 12e6, 1);
  EXPECT_EQ(bytes_of(phases.at(0), 1), 0);
  EXPECT_EQ(phases.at(0).time.value, 1);
}

TEST_F(WatchedPages, CurrentPhase_GetsEndedWindow) {
  collector.begin_phase("a");
  clock.time = Seconds{2};
  collector.add({1, 2, {{1, 5e6}}});
  collector.end_phase(Seconds{2});
  EXPECT_NEAR(bytes_of(collector.take_iteration().phases.at(0), 1), 10e6, 1);
}

// The stalls of such a phase are scaled to its time, which rounds.
TEST_F(WatchedPages, PhaseStalledAllTheTime_CoreTimeIsNotNegative) {
  for (int i = 1; i < 2000; ++i) {
    collector.begin_phase("a");
    const auto begun = clock.time.value;
    clock.time += Seconds{1e-5 * i / 7};
    collector.add({begun, clock.time.value, {{0, 4e9 / i}, {1, 3e9}}});
    collector.end_phase(Seconds{1e-5 * i / 7});
    const auto phases = collector.take_iteration().phases;
    ASSERT_GE(phases.at(0).core.value, 0) << i;
    ASSERT_LT(phases.at(0).core.value, 1e-9) << i;
    collector.begin_iteration(static_cast<std::uint32_t>(i));
  }
}

TEST_F(WatchedPages, SomeWindows_HasEnoughData) {
  collector.begin_phase("a");
  for (std::uint32_t i = 0; i < WatchedPagesCollector::k_windows; ++i) {
    EXPECT_FALSE(collector.has_enough_data());
    clock.time += Seconds{1};
    collector.add({clock.time.value - 0.5, clock.time.value, {{0, 1e6}}});
  }
  EXPECT_TRUE(collector.has_enough_data());
  // Another loop, without data.
  collector.on_loop_begin();
  EXPECT_FALSE(collector.has_enough_data());
  collector.end_phase(Seconds{8});
  EXPECT_TRUE(collector.take_iteration().phases.at(0).cells.empty());
}

TEST_F(WatchedPages, WindowWhileInactive_IsIgnored) {
  collector.begin_phase("a");
  collector.set_active(false);
  clock.time = Seconds{1};
  collector.add({0, 1, {{0, 1e6}}});
  collector.set_active(true);
  collector.end_phase(Seconds{1});
  EXPECT_TRUE(collector.take_iteration().phases.at(0).cells.empty());
}

TEST_F(WatchedPages, LiveRanges_EqualChunks) {
  chunks[5].live = false;
  const auto ranges = collector.live_ranges();
  ASSERT_EQ(ranges.size(), 3U);
  EXPECT_EQ(ranges[0].range.low, std::uint64_t{1} << 32);
  EXPECT_EQ(ranges[0].range.high, (std::uint64_t{1} << 32) + 4 * k_mib);
  EXPECT_EQ(ranges[1].range.high - ranges[1].range.low, k_mib);
  EXPECT_EQ(ranges[2].range.high - ranges[2].range.low, 2 * k_mib);
  EXPECT_EQ(ranges[2].object, 1U);
}

}  // namespace
}  // namespace terrace::observe
