// Tests the GPU programs: their results are right and repeat, and the simulator conserves their accesses.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "conservation.hpp"
#include "gpu_sim/engine/simulator.hpp"
#include "gpu_sim/engine/tiering_policy_adapter.hpp"
#include "gpu_sim/simt/device.hpp"
#include "machine.hpp"
#include "strategy/tiering/touch_policy.hpp"
#include "traces.hpp"
#include "workloads/gpu/program.hpp"

namespace terrace::gpu_sim {
namespace {

class Program : public testing::TestWithParam<const GpuProgram*> {
 protected:
  [[nodiscard]] StoredTrace traced(std::int64_t times = 1) const {
    StoredTrace trace;
    Device device(trace);
    const auto& program = *GetParam();
    // Throws if a result is wrong.
    EXPECT_FALSE(program.run(device, program.numbers("test", times)).empty());
    return trace;
  }
};

TEST_P(Program, Results_AreRightAndRepeat) {
  const auto once = traced();
  const auto again = traced();
  ASSERT_EQ(once.kernels.size(), again.kernels.size());
  EXPECT_GT(once.kernels.size(), 0U);
  EXPECT_EQ(instructions_of(once), instructions_of(again));
  for (std::size_t k = 0; k < once.kernels.size(); ++k) {
    ASSERT_EQ(once.kernels[k].ctas.size(), once.kernels[k].kernel.ctas);
    for (std::size_t i = 0; i < once.kernels[k].ctas.size(); ++i)
      ASSERT_TRUE(once.kernels[k].ctas[i].lines == again.kernels[k].ctas[i].lines);
  }
  EXPECT_NO_THROW(static_cast<void>(GetParam()->size("paper")));
}

TEST_P(Program, Simulation_IsConserved) {
  const auto trace = traced();
  const auto instructions = instructions_of(trace);
  const auto gpu = test_gpu();
  const auto run = [&](PagePlacement& placement) {
    Replay replay(trace);
    const auto counts = Simulator(gpu, replay, placement, {k_all, k_all}).run({.by_kernel = true, .every = 5000});
    expect_conserved(counts, instructions);
    return counts;
  };
  FractionPagePlacement beyond(0);
  const auto remote = run(beyond);
  EXPECT_EQ(remote.mover.moved_pages, 0U);
  FractionPagePlacement all(1);
  run(all);
  TieringPolicyAdapter policy(gpu, std::make_unique<strategy::TouchPolicy>(strategy::TouchRules{2, 16, true}),
                              k_all);
  run(policy);
  // No callback is requested: equals a run without decisions.
  TieringPolicyAdapter never(
      gpu, std::make_unique<strategy::TouchPolicy>(strategy::TouchRules{0xffffffff, 128, false}), k_all);
  const auto unmoved = run(never);
  EXPECT_EQ(unmoved.cycles, remote.cycles);
  // Counting by intervals changes nothing.
  FractionPagePlacement again(0);
  Replay replay(trace);
  const auto whole = Simulator(gpu, replay, again, {k_all, k_all}).run();
  EXPECT_EQ(whole.cycles, remote.cycles);
  EXPECT_TRUE(whole.camat == remote.camat);
  EXPECT_TRUE(whole.camat_by_kernel.empty());
  EXPECT_TRUE(whole.camat_over_time.empty());
}

// Each further iteration does as much as the one before, or nearly, because some depend on the data.
TEST_P(Program, MoreIterations_TakeMoreInstructions) {
  if (!GetParam()->iterations()) return;  // as IterationCount_ScalesOrIsRejected says
  const auto instructions = [this](std::int64_t times) {
    return static_cast<double>(instructions_of(traced(times)));
  };
  // Two more each time, because hotspot's kernels make two steps each.
  const auto one = instructions(1), three = instructions(3), five = instructions(5);
  EXPECT_GT(three, one);
  EXPECT_NEAR((five - three) / (three - one), 1, 0.1);
}

INSTANTIATE_TEST_SUITE_P(All, Program, testing::ValuesIn(gpu_programs()),
                         [](const auto& instance) { return std::string(instance.param->name()); });

TEST(Programs, Names_AreFound) {
  EXPECT_EQ(find_gpu_program("pathfinder").name(), "pathfinder");
  EXPECT_THROW(find_gpu_program("pathfounder"), Error);
  EXPECT_THROW(static_cast<void>(find_gpu_program("pathfinder").size("huge")), Error);
  EXPECT_GE(gpu_programs().size(), 14U);
}

TEST(Programs, IterationCount_ScalesOrIsRejected) {
  const auto& hotspot = find_gpu_program("hotspot");
  auto numbers = hotspot.size("test").numbers;
  EXPECT_EQ(hotspot.numbers("test", 1), numbers);
  numbers.back() *= 3;
  EXPECT_EQ(hotspot.numbers("test", 3), numbers);
  EXPECT_THROW(static_cast<void>(hotspot.numbers("test", 0)), Error);
  EXPECT_THROW(static_cast<void>(hotspot.numbers("test", k_max_times + 1)), Error);
  EXPECT_THROW(static_cast<void>(find_gpu_program("needle").numbers("test", 2)), Error);
  StoredTrace trace;
  Device device(trace);
  const auto& filter = find_gpu_program("particlefilter");
  EXPECT_THROW(static_cast<void>(filter.run(device, filter.numbers("test", 7))), Error);
}

TEST(Programs, WrongResults_AreDetected) {
  Comparison comparison;
  comparison.add(1, 1);
  EXPECT_NO_THROW(static_cast<void>(comparison.verdict("numbers", 0)));
  comparison.add(1, 1.1);
  EXPECT_NO_THROW(static_cast<void>(comparison.verdict("numbers", 0.1)));
  EXPECT_THROW(static_cast<void>(comparison.verdict("numbers", 0.09)), Error);
  comparison.add(std::nan(""), 1);
  EXPECT_THROW(static_cast<void>(comparison.verdict("numbers", 1e9)), Error);
  EXPECT_THROW(static_cast<void>(Comparison().verdict("numbers", 1)), Error);
}

}  // namespace
}  // namespace terrace::gpu_sim
