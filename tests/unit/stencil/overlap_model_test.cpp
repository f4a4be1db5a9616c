// Tests the overlap model against closed forms, and that no memory exceeds its bandwidth.
#include "stencil/virtual/overlap_model.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "machine/file/machine_file.hpp"
#include "virtual_chains.hpp"

namespace terrace::stencil::test {
namespace {

using Lane = OverlapModel::Lane;

// Advances until all lanes are idle; returns the time.
double all(OverlapModel& flow) {
  for (const auto lane : {Lane::loops, Lane::in, Lane::out}) flow.wait(lane);
  return flow.now();
}

TEST(OverlapModel, CopiesBothWays_ShareSlowMemory) {
  OverlapModel flow(make_tiers(0, 1000, 100, 500));
  flow.copy(Lane::in, 300, {});
  flow.copy(Lane::out, 100, {});
  flow.wait(Lane::out);
  EXPECT_DOUBLE_EQ(flow.now(), 2);
  EXPECT_DOUBLE_EQ(all(flow), 4);  // all bytes at the shared bandwidth
}

TEST(OverlapModel, FullDuplexLink_HasBandwidthEachWay) {
  auto tiers = make_tiers(0, 1000, 100, 500);
  tiers.slow_read = tiers.slow_write = 200;
  OverlapModel flow(tiers);
  flow.copy(Lane::in, 300, {});
  flow.copy(Lane::out, 100, {});
  EXPECT_DOUBLE_EQ(all(flow), 3);
  // The memory behind the link has less than both directions take: 2 * 100 bytes a second, of which it has 150.
  tiers.slow_read = tiers.slow_write = 150;
  OverlapModel held(tiers);
  held.copy(Lane::in, 300, {});
  held.copy(Lane::out, 300, {});
  EXPECT_DOUBLE_EQ(all(held), 4);
}

TEST(OverlapModel, LoopsAndCopies_ShareFastMemory) {
  OverlapModel flow(make_tiers(0, 500, 100, 500));
  flow.run(1000, 1);
  flow.copy(Lane::in, 100, {});
  flow.wait(Lane::in);
  EXPECT_DOUBLE_EQ(flow.now(), 1.2);  // (500 + 100) / 500 times as long as alone
  EXPECT_DOUBLE_EQ(all(flow), 2.2);   // 1100 bytes
  EXPECT_DOUBLE_EQ(flow.loop_seconds(), 2.2);
  // Loops limited by something else leave bandwidth for copies.
  OverlapModel slower(make_tiers(0, 500, 100, 400));
  slower.run(1000, 1);
  slower.copy(Lane::in, 100, {});
  EXPECT_DOUBLE_EQ(all(slower), 2.5);
}

TEST(OverlapModel, WorkOfOneLane_IsSerial) {
  auto tiers = make_tiers(0, 1000, 100, 500);
  tiers.launch = 2;
  OverlapModel flow(tiers);
  flow.copy(Lane::in, 100, {3, 0});
  flow.copy(Lane::in, 0, {3, 0});
  flow.copy(Lane::in, 200, {3, 0});
  EXPECT_EQ(flow.advance(), Lane::in);
  EXPECT_DOUBLE_EQ(flow.now(), 4);
  EXPECT_EQ(flow.advance(), Lane::in);
  EXPECT_DOUBLE_EQ(flow.now(), 7);
  EXPECT_EQ(flow.advance(), Lane::in);
  EXPECT_DOUBLE_EQ(flow.now(), 12);
  EXPECT_EQ(flow.advance(), std::nullopt);
  flow.run(500, 4);
  flow.copy_within(500, 3);
  EXPECT_DOUBLE_EQ(all(flow), 12 + 8 + 1 + 6 + 1);
  EXPECT_DOUBLE_EQ(flow.loop_seconds(), 9);
}

// Half of a copy overlaps loops of the same length, half runs alone; then loops alone.
TEST(OverlapModel, HiddenSeconds_AreCopiesDuringLoops) {
  auto tiers = make_tiers(0, 1000, 100, 500);
  tiers.launch = 1;
  OverlapModel flow(tiers);
  flow.copy(Lane::in, 400, {});
  flow.run(500, 1);
  flow.wait(Lane::in);
  EXPECT_DOUBLE_EQ(flow.copy_seconds(), 4);
  EXPECT_DOUBLE_EQ(flow.hidden_seconds(), 2);
  flow.run(500, 1);
  EXPECT_DOUBLE_EQ(all(flow), 6);
  EXPECT_DOUBLE_EQ(flow.copy_seconds(), 4);
  EXPECT_DOUBLE_EQ(flow.hidden_seconds(), 2);
  // Concurrent copies in both directions count once; copies within the fast memory are not loops.
  flow.copy(Lane::in, 100, {});
  flow.copy(Lane::out, 100, {});
  flow.copy_within(5000, 0);
  EXPECT_DOUBLE_EQ(all(flow), 6 + 10.2);
  EXPECT_DOUBLE_EQ(flow.copy_seconds(), 4 + 2.2);
  EXPECT_DOUBLE_EQ(flow.hidden_seconds(), 2);
}

// A copy costs its call and its bytes, and slows running loops by the stall and by the cores that copy.
TEST(OverlapModel, CopiesByCores_SlowLoops) {
  auto tiers = make_tiers(0, 1000, 100, 400);
  tiers.beside_copies = 0.75;
  OverlapModel flow(tiers);
  flow.run(300, 1);
  EXPECT_DOUBLE_EQ(all(flow), 1);
  flow.run(300, 1);
  flow.copy(Lane::in, 100, {2, 0.5});
  flow.wait(Lane::loops);
  EXPECT_DOUBLE_EQ(flow.now(), 2.5);
  EXPECT_DOUBLE_EQ(flow.loop_seconds(), 2.5);
  EXPECT_DOUBLE_EQ(flow.hidden_seconds(), 1);  // without the stall
  EXPECT_DOUBLE_EQ(all(flow), 4);
  // Without loops nothing stalls.
  flow.copy(Lane::in, 100, {2, 0.5});
  EXPECT_DOUBLE_EQ(all(flow), 7);
  flow.run(300, 1);
  EXPECT_DOUBLE_EQ(all(flow), 8);
}

// The copier runs one copy at a time in either direction: the times add up.
TEST(OverlapModel, SharedCopier_CopiesOneWayAtATime) {
  auto tiers = make_tiers(0, 1000, 100, 500);
  tiers.slow_read = tiers.slow_write = 1000;
  for (const auto threads : {0U, 2U}) {
    tiers.copier.threads = threads;
    OverlapModel flow(tiers);
    flow.copy(Lane::in, 100, {1, 0});
    flow.copy(Lane::out, 300, {1, 0});
    EXPECT_DOUBLE_EQ(all(flow), threads == 0 ? 4 : 6);
  }
}

TEST(OverlapModel, RandomWork_NeverExceedsBandwidth) {
  std::mt19937_64 random(1);
  const auto number = [&](double low, double high) { return std::uniform_real_distribution(low, high)(random); };
  for (int i = 0; i < 500; ++i) {
    auto tiers = make_tiers(0, number(100, 1000), number(10, 300), 0);
    tiers.loop_bandwidth = number(0.1, 1) * tiers.fast_bandwidth;
    tiers.slow_read = number(1, 2) * tiers.in_bandwidth;
    tiers.slow_write = number(1, 2) * tiers.out_bandwidth;
    OverlapModel flow(tiers);
    double in = 0, out = 0, loops = 0;
    for (int w = 0; w < 20; ++w) {
      const auto bytes = number(0, 1000);
      const auto lane = static_cast<Lane>(std::uniform_int_distribution(0, 2)(random));
      (lane == Lane::in ? in : lane == Lane::out ? out : loops) += bytes;
      if (lane == Lane::loops)
        flow.run(bytes, 1);
      else
        flow.copy(lane, bytes, {});
      if (number(0, 1) < 0.3) static_cast<void>(flow.advance());
    }
    const auto took = all(flow) * (1 + 1e-9);
    EXPECT_LE(in / tiers.in_bandwidth, took);
    EXPECT_LE(out / tiers.out_bandwidth, took);
    EXPECT_LE(in / tiers.slow_read + out / tiers.slow_write, took);
    EXPECT_LE((in + out + loops) / tiers.fast_bandwidth, took);
    EXPECT_LE(loops / tiers.loop_bandwidth, took);
    // At any time some lane runs at its full rate.
    EXPECT_GE(in / tiers.in_bandwidth + out / tiers.out_bandwidth + (in + out + loops) / tiers.fast_bandwidth +
                  loops / tiers.loop_bandwidth,
              flow.now() * (1 - 1e-9));
  }
}

TwoTierMachine shipped(const std::string& name) {
  return two_tier_machine(machine::load_machine(name).machine, TwoTierOptions{});
}

double both_ways(const TwoTierMachine& tiers, double bytes) {
  OverlapModel flow(tiers);
  flow.copy(Lane::in, bytes, tiers.copy_price(bytes));
  flow.copy(Lane::out, bytes, tiers.copy_price(bytes));
  return all(flow);
}

// A GPU's link has its bandwidth each way, and a copy begins with a notice of 1 us. On the KNL both ways go
// through DDR4, of 60.8 GB/s, and its copier, swap, takes 25 us for 2 MiB, which four of the 64 cores copy: lines
// enough.
TEST(OverlapModel, ShippedMachines_GiveCopyTimes) {
  EXPECT_NEAR(both_ways(shipped("p100-nvlink"), 33e9), 1, 1e-4);
  EXPECT_NEAR(both_ways(shipped("p100-pcie"), 12e9), 1 + 1e-6, 1e-9);
  const auto knl = shipped("knl-7210-flat");
  constexpr double piece = 1 << 21;
  EXPECT_NEAR(both_ways(knl, 29e3 * piece), 2 * 29e3 * (25e-6 + piece / 60.8e9), 1e-6);
  EXPECT_DOUBLE_EQ(knl.copy_price(piece).stall, 20e-6);
  EXPECT_DOUBLE_EQ(knl.copy_price(4096).begin, 25.2e-6);
  EXPECT_DOUBLE_EQ(knl.beside_copies, 60.0 / 64);
  // move-pages copies with one thread: 38 lines of 64 bytes in 154 ns.
  const auto other = shipped("knl-7210-flat@move-pages");
  EXPECT_NEAR(other.in_bandwidth, 38 * 64 / 154e-9, 1);
  EXPECT_DOUBLE_EQ(other.beside_copies, 63.0 / 64);
}

}  // namespace
}  // namespace terrace::stencil::test
