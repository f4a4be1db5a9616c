// What goes on at a time in virtual time: closed forms, and that nothing has more bandwidth than its memory.
#include "stencil/virtual/flow.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "machine/file/machine_file.hpp"
#include "virtual_chains.hpp"

namespace terrace::stencil::test {
namespace {

using Lane = Flow::Lane;

// Until nothing goes on.
double all(Flow& flow) {
  for (const auto lane : {Lane::loops, Lane::in, Lane::out}) flow.wait(lane);
  return flow.now();
}

TEST(Flow, CopiesBothWaysShareTheSlowMemory) {
  Flow flow(pair_with(0, 1000, 100, 500));
  flow.copy(Lane::in, 300);
  flow.copy(Lane::out, 100);
  flow.wait(Lane::out);
  EXPECT_DOUBLE_EQ(flow.now(), 2);
  EXPECT_DOUBLE_EQ(all(flow), 4);  // all bytes over the bandwidth
}

TEST(Flow, ALinkHasItsBandwidthEachWay) {
  auto pair = pair_with(0, 1000, 100, 500);
  pair.slow_read = pair.slow_write = 200;
  Flow flow(pair);
  flow.copy(Lane::in, 300);
  flow.copy(Lane::out, 100);
  EXPECT_DOUBLE_EQ(all(flow), 3);
  // A memory behind it that has less than both ways takes: 2 * 100 bytes a second, of which it has 150.
  pair.slow_read = pair.slow_write = 150;
  Flow held(pair);
  held.copy(Lane::in, 300);
  held.copy(Lane::out, 300);
  EXPECT_DOUBLE_EQ(all(held), 4);
}

TEST(Flow, LoopsAndCopiesShareTheFastMemory) {
  Flow flow(pair_with(0, 500, 100, 500));
  flow.run(1000, 1);
  flow.copy(Lane::in, 100);
  flow.wait(Lane::in);
  EXPECT_DOUBLE_EQ(flow.now(), 1.2);  // (500 + 100) / 500 times as long as alone
  EXPECT_DOUBLE_EQ(all(flow), 2.2);   // 1100 bytes
  EXPECT_DOUBLE_EQ(flow.loop_seconds(), 2.2);
  // Loops that are held back by something else leave room for copies.
  Flow slower(pair_with(0, 500, 100, 400));
  slower.run(1000, 1);
  slower.copy(Lane::in, 100);
  EXPECT_DOUBLE_EQ(all(slower), 2.5);
}

TEST(Flow, ALaneDoesOneAfterTheOther) {
  auto pair = pair_with(0, 1000, 100, 500);
  pair.call = 3;
  pair.launch = 2;
  Flow flow(pair);
  flow.copy(Lane::in, 100);
  flow.copy(Lane::in, 0);
  flow.copy(Lane::in, 200);
  EXPECT_EQ(flow.pass(), Lane::in);
  EXPECT_DOUBLE_EQ(flow.now(), 4);
  EXPECT_EQ(flow.pass(), Lane::in);
  EXPECT_DOUBLE_EQ(flow.now(), 7);
  EXPECT_EQ(flow.pass(), Lane::in);
  EXPECT_DOUBLE_EQ(flow.now(), 12);
  EXPECT_EQ(flow.pass(), std::nullopt);
  flow.run(500, 4);
  flow.copy_within(500);
  EXPECT_DOUBLE_EQ(all(flow), 12 + 8 + 1 + 1);
  EXPECT_DOUBLE_EQ(flow.loop_seconds(), 9);
}

TEST(Flow, NothingIsFasterThanItsMemory) {
  std::mt19937_64 random(1);
  const auto number = [&](double low, double high) { return std::uniform_real_distribution(low, high)(random); };
  for (int i = 0; i < 500; ++i) {
    auto pair = pair_with(0, number(100, 1000), number(10, 300), 0);
    pair.loop_bandwidth = number(0.1, 1) * pair.fast_bandwidth;
    pair.slow_read = number(1, 2) * pair.in_bandwidth;
    pair.slow_write = number(1, 2) * pair.out_bandwidth;
    Flow flow(pair);
    double in = 0, out = 0, loops = 0;
    for (int w = 0; w < 20; ++w) {
      const auto bytes = number(0, 1000);
      const auto lane = static_cast<Lane>(std::uniform_int_distribution(0, 2)(random));
      (lane == Lane::in ? in : lane == Lane::out ? out : loops) += bytes;
      if (lane == Lane::loops)
        flow.run(bytes, 1);
      else
        flow.copy(lane, bytes);
      if (number(0, 1) < 0.3) static_cast<void>(flow.pass());
    }
    const auto took = all(flow) * (1 + 1e-9);
    EXPECT_LE(in / pair.in_bandwidth, took);
    EXPECT_LE(out / pair.out_bandwidth, took);
    EXPECT_LE(in / pair.slow_read + out / pair.slow_write, took);
    EXPECT_LE((in + out + loops) / pair.fast_bandwidth, took);
    EXPECT_LE(loops / pair.loop_bandwidth, took);
    // And something goes on at its full rate at any time.
    EXPECT_GE(in / pair.in_bandwidth + out / pair.out_bandwidth + (in + out + loops) / pair.fast_bandwidth +
                  loops / pair.loop_bandwidth,
              flow.now() * (1 - 1e-9));
  }
}

Pair shipped(const std::string& name) {
  return pair_of(machine::read_machine_file(machine::find_machine(name)), PairOptions{});
}

double both_ways(const Pair& pair, double bytes) {
  Flow flow(pair);
  flow.copy(Lane::in, bytes);
  flow.copy(Lane::out, bytes);
  return all(flow);
}

// On the KNL both ways go through DDR4, of 60.8 GB/s; a GPU's link has its bandwidth each way.
TEST(Flow, MachineFilesSayWhatCopiesShare) {
  EXPECT_NEAR(both_ways(shipped("knl-7210-flat"), 60.8e9), 2, 1e-9);
  EXPECT_NEAR(both_ways(shipped("p100-nvlink"), 33e9), 1, 1e-4);
  EXPECT_NEAR(both_ways(shipped("p100-pcie"), 12e9), 1, 1e-4);
}

}  // namespace
}  // namespace terrace::stencil::test
