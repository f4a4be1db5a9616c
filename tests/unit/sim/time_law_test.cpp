// Tests the time law without transfers against closed forms: STREAM, a chase, data on two places, caches, cores.
#include <gtest/gtest.h>

#include <array>

#include "world.hpp"

namespace terrace::sim {
namespace {

constexpr std::uint32_t k_lines = 100000;
constexpr double k_line = 64;

double stream_time(TestWorld& world, StreamKernel kernel, PlaceId place) {
  std::vector<SyntheticArray> arrays;
  for (std::uint32_t i = 0; i < arrays_read(kernel) + (writes(kernel) ? 1 : 0); ++i)
    arrays.push_back(world.add_array(k_lines, place));
  const auto begin = world.now();
  SyntheticGenerator program(world.virtual_machine, {64});
  program.stream(kernel, arrays);
  program.flush();
  return world.now() - begin;
}

double chase_time(TestWorld& world, PlaceId place, std::uint64_t hops) {
  const auto array = world.add_array(k_lines, place);
  const auto begin = world.now();
  SyntheticGenerator program(world.virtual_machine, {64});
  program.chase(array, hops);
  program.flush();
  return world.now() - begin;
}

TEST(TimeLaw, Sum_ReachesThePlacesReadBandwidth) {
  for (const double share : {1.0, 0.5, 0.25, 0.125}) {
    // The core is fast enough that memory is the limit.
    TestWorld world(test_machine({.bandwidth = share, .instruction_ns = 0.0125, .prefetch_mlp = 60}));
    EXPECT_NEAR(k_lines * k_line / stream_time(world, StreamKernel::sum, 1), 16e9 * share, 16e9 * share * 1e-9);
  }
}

TEST(TimeLaw, StreamKernels_UseReadAndWriteBandwidths) {
  for (const auto kernel : {StreamKernel::copy, StreamKernel::scale, StreamKernel::add, StreamKernel::triad}) {
    TestWorld world(test_machine({.bandwidth = 0.25, .instruction_ns = 0.0125, .write = 0.4}));
    const double read = arrays_read(kernel) + 1;  // a stored line is read first
    const double expected = k_lines * k_line * (read / 4e9 + 1 / 1.6e9);
    EXPECT_NEAR(stream_time(world, kernel, 1), expected, expected * 1e-9);
  }
}

TEST(TimeLaw, SlowCore_LimitsStream) {
  TestWorld world(test_machine({.instruction_ns = 0.25}));
  // 8 loads per line, of four instructions each; one prefetched line exposes a twentieth of the latency.
  const double expected = k_lines * (8 * 1e-9 + 86e-9 / 20);
  EXPECT_NEAR(stream_time(world, StreamKernel::sum, 0), expected, expected * 1e-9);
}

TEST(TimeLaw, Chase_TakesALatencyPerHop) {
  for (const double latency : {1.0, 2.0, 4.0}) {
    TestWorld world(test_machine({.latency = latency}));
    EXPECT_NEAR(chase_time(world, 1, 50000) / 50000, 86e-9 * latency + 4 * 0.25e-9, 1e-15);
  }
}

TEST(TimeLaw, BandwidthAndLatency_ChangeTimeInProportion) {
  const MachineChoice fast_core{.instruction_ns = 0};
  const auto with = [&](double bandwidth, double latency) {
    auto choice = fast_core;
    choice.bandwidth = bandwidth;
    choice.latency = latency;
    return TestWorld(test_machine(choice));
  };
  auto half = with(0.5, 1), quarter = with(0.25, 1), triple = with(1, 3), single = with(1, 1);
  EXPECT_NEAR(stream_time(quarter, StreamKernel::sum, 1) / stream_time(half, StreamKernel::sum, 1), 2, 1e-9);
  EXPECT_NEAR(chase_time(triple, 1, 1000) / chase_time(single, 1, 1000), 3, 1e-9);
}

// Both memories work concurrently: with a share f of the traffic in fast memory the slower one determines the
// time, and the best share is fast / (fast + slow).
TEST(TimeLaw, SplitOverTwoPlaces_TakesTheLongerOfBoth) {
  for (const double f : {0.0, 0.25, 0.5, 2.0 / 3, 0.75, 1.0}) {
    TestWorld world(test_machine({.bandwidth = 0.5, .instruction_ns = 0, .prefetch_mlp = 1000}));
    const auto fast = world.add_array(2000, 0);
    const auto slow = world.add_array(2000, 1);
    constexpr int k_count = 60000;
    std::vector<observe::Miss> misses;
    for (int i = 0; i < k_count; ++i) {
      const bool in_fast = (i % 12) < 12 * f - 1e-9;
      misses.push_back({(in_fast ? fast : slow).first, 0, 0, observe::MissKind::prefetched});
    }
    world.virtual_machine.quantum({0, k_count, k_count, {}, misses});
    const double expected = k_count * k_line * std::max(f / 16e9, (1 - f) / 8e9);
    EXPECT_NEAR(world.now(), expected, expected * 1e-9) << f;
  }
}

// Little's law for misses that overlap ten at a time: throughput is 10 lines per latency, of each place's own
// latency.
TEST(TimeLaw, IndependentMisses_FollowLittlesLaw) {
  TestWorld world(test_machine({.bandwidth = 1, .latency = 4, .instruction_ns = 0}));
  const auto fast = world.add_array(2000, 0);
  const auto slow = world.add_array(2000, 1);
  std::vector<observe::Miss> misses;
  misses.reserve(10000);
  for (int i = 0; i < 10000; ++i)
    misses.push_back({(i % 2 ? fast : slow).first, 0, 0, observe::MissKind::independent});
  world.virtual_machine.quantum({0, 10000, 10000, {}, misses});
  const double mean_latency = (86e-9 + 4 * 86e-9) / 2;
  EXPECT_NEAR(10000 / world.now(), 10 / mean_latency, 10 / mean_latency * 1e-9);
}

TEST(TimeLaw, HitsBeyondTheFirstLevel_CostOverlappedLatency) {
  TestWorld world;
  world.virtual_machine.quantum({0, 1000, 1000, {600, 300, 100, 0}, {}});
  EXPECT_NEAR(world.now(), 1000 * 0.25e-9 + 300 * 4e-9 / 10 + 100 * 20e-9 / 10, 1e-18);
}

TEST(TimeLaw, SeveralCores_DivideCoreTimeAndLatencyButNotTraffic) {
  TestWorld four(test_machine(), {}, 4);
  EXPECT_NEAR(chase_time(four, 1, 40000) * 4, 40000 * (86e-9 + 4 * 0.25e-9), 1e-12);
  TestWorld many(test_machine(), {}, 64);
  EXPECT_NEAR(k_lines * k_line / stream_time(many, StreamKernel::sum, 0), 16e9, 16);
}

TEST(TimeLaw, DependentMisses_CountByTheirWeight) {
  TestWorld world(test_machine({.instruction_ns = 0}));
  const auto array = world.add_array(10, 0);
  std::vector<observe::Miss> misses(255, {array.first, 0, 51, observe::MissKind::dependent});
  world.virtual_machine.quantum({0, 255, 255, {}, misses});
  EXPECT_NEAR(world.now(), 51 * 86e-9, 1e-15);
}

TEST(TimeLaw, Account_AddsUpToTheClock) {
  TestWorld world(test_machine({.bandwidth = 0.25}));
  stream_time(world, StreamKernel::triad, 1);
  chase_time(world, 1, 10000);
  world.virtual_machine.charge({1e-3});
  const auto& account = world.virtual_machine.account();
  EXPECT_NEAR(account.total().value, world.now(), 1e-12);
  EXPECT_NEAR(account.core.value, (k_lines * 24 + 10000) * 4 * 0.25e-9, 1e-12);
  EXPECT_NEAR(account.exposed.value, k_lines * 3 * 86e-9 / 20 + 10000 * 86e-9, 1e-9);
  EXPECT_GT(account.bandwidth_bound.value, 0);
  EXPECT_EQ(account.charged.value, 1e-3);
  EXPECT_EQ(account.accesses, k_lines * 24u + 10000u);
  EXPECT_EQ(account.misses, k_lines * 3u + 10000u);
}

TEST(TimeLaw, InvalidNumberOfCores_IsRejected) {
  EXPECT_THROW(TestWorld(test_machine(), {}, 0), Error);
  EXPECT_THROW(TimeLaw(test_machine(), 7, 1), Error);
}

}  // namespace
}  // namespace terrace::sim
