// Tests C-AMAT by the time law against closed forms (a chase, STREAM, two places, caches), and that its parts add
// up to the clock.
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "world.hpp"

namespace terrace::sim {
namespace {

constexpr std::uint32_t k_lines = 100000;

profile::LevelUse level(const TestWorld& world, const std::string& name) {
  for (const auto& use : world.virtual_machine.levels())
    if (use.name == name) return use;
  throw Error(Code::not_found, "no level " + name);
}

double camat(const profile::LevelUse& use) { return (use.hit + use.miss).value / use.accesses; }

// Sequential accesses: C-AMAT is the latency.
TEST(LevelUseCounters, Chase_IsTheLatency) {
  for (const double latency : {1.0, 4.0}) {
    TestWorld world(test_machine({.latency = latency}));
    const auto array = world.add_array(k_lines, 1);
    SyntheticGenerator program(world.virtual_machine, {64});
    program.chase(array, 50000);
    program.flush();
    const auto use = level(world, "slow");
    EXPECT_EQ(use.accesses, 50000);
    EXPECT_NEAR(camat(use), 86e-9 * latency, 1e-15);
    EXPECT_EQ(use.miss.value, 0);
    EXPECT_EQ(level(world, "fast").accesses, 0);
  }
}

// Bandwidth-bound accesses: C-AMAT is the transfer time of a line.
TEST(LevelUseCounters, Stream_IsALinesShareOfTheBandwidth) {
  TestWorld world(test_machine({.bandwidth = 0.25, .instruction_ns = 0.0125, .prefetch_mlp = 60}));
  const auto array = world.add_array(k_lines, 1);
  SyntheticGenerator program(world.virtual_machine, {64});
  program.stream(StreamKernel::sum, std::span(&array, 1));
  program.flush();
  const auto use = level(world, "slow");
  EXPECT_EQ(use.accesses, k_lines);
  EXPECT_NEAR(camat(use), 64 / 4e9, 1e-15);
}

// Independent misses overlap up to the number of miss registers: a tenth of the latency each.
TEST(LevelUseCounters, OverlappingMisses_ShareTheLatency) {
  TestWorld world(test_machine({.latency = 4, .instruction_ns = 0}));
  const auto array = world.add_array(2000, 1);
  const std::vector<observe::Miss> misses(10000, {array.first, 0, 0, observe::MissKind::independent});
  world.virtual_machine.quantum({0, 10000, 10000, {}, misses});
  EXPECT_NEAR(camat(level(world, "slow")), 4 * 86e-9 / 10, 1e-15);
}

// Places work concurrently: each is active for its own lines, and the longer of both is the clock.
TEST(LevelUseCounters, TwoPlaces_AreActiveForTheirOwnTraffic) {
  TestWorld world(test_machine({.bandwidth = 0.5, .instruction_ns = 0, .prefetch_mlp = 1000}));
  const auto fast = world.add_array(2000, 0);
  const auto slow = world.add_array(2000, 1);
  std::vector<observe::Miss> misses;
  for (int i = 0; i < 60000; ++i)
    misses.push_back({(i % 4 == 0 ? fast : slow).first, 0, 0, observe::MissKind::prefetched});
  world.virtual_machine.quantum({0, 60000, 60000, {}, misses});
  const auto in_fast = level(world, "fast");
  const auto in_slow = level(world, "slow");
  EXPECT_EQ(in_fast.accesses, 15000);
  EXPECT_EQ(in_slow.accesses, 45000);
  EXPECT_NEAR(camat(in_fast), 64 / 16e9, 1e-15);
  EXPECT_NEAR(camat(in_slow), 64 / 8e9, 1e-15);
  EXPECT_NEAR(in_slow.hit.value, world.now(), 1e-12);
}

// 600 of 1,000 accesses hit the first cache, 290 the second, 100 the third, and 10 go to memory sequentially.
TEST(LevelUseCounters, Caches_HaveHitsAndTheTimeOfLowerLevels) {
  TestWorld world;
  const auto array = world.add_array(100, 0);
  const std::vector<observe::Miss> misses(10, {array.first, 0, 255, observe::MissKind::dependent});
  world.virtual_machine.quantum({0, 1000, 1000, {600, 290, 100, 0}, misses});
  const auto second = level(world, "l2");
  const auto third = level(world, "l3");
  EXPECT_EQ(second.accesses, 400);
  EXPECT_NEAR(second.hit.value, 290 * 4e-9 / 10, 1e-18);
  EXPECT_NEAR(second.miss.value, 100 * 20e-9 / 10 + 10 * 86e-9, 1e-17);
  EXPECT_EQ(third.accesses, 110);
  EXPECT_NEAR(third.hit.value, 100 * 20e-9 / 10, 1e-18);
  EXPECT_NEAR(third.miss.value, 10 * 86e-9, 1e-17);
  // The clock is the time of the instructions, and the second cache's active time.
  EXPECT_NEAR(world.now(), 1000 * 0.25e-9 + (second.hit + second.miss).value, 1e-15);
}

// A copy that completes within a quantum moves the rest of the chunk's traffic to its new place: nothing is lost.
TEST(LevelUseCounters, MovedChunk_HasTrafficOnBothPlaces) {
  TestWorld world(test_machine({.instruction_ns = 0.0125, .prefetch_mlp = 60}));
  const auto array = world.add_array(k_lines, 1);
  const auto ticket = world.virtual_machine.submit({array.first, 0});
  SyntheticGenerator program(world.virtual_machine, {64});
  for (int i = 0; i < 4; ++i) program.stream(StreamKernel::sum, std::span(&array, 1));
  program.flush();
  EXPECT_TRUE(world.virtual_machine.done(ticket));
  const auto before = level(world, "slow").accesses;
  const auto after = level(world, "fast").accesses;
  EXPECT_GT(before, 0);
  EXPECT_GT(after, 0);
  EXPECT_NEAR(before + after, 4.0 * k_lines, 1e-6);
}

}  // namespace
}  // namespace terrace::sim
