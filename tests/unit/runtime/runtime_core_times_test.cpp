// Tests phases with core times of their own: each costs its instructions at its own time, in the clock and in both
// profiles.
#include <gtest/gtest.h>

#include <map>

#include "runtime_fixture.hpp"

namespace terrace::runtime {
namespace {

constexpr std::uint64_t k_instructions = 1'000'000;  // 0.25 ms at the machine's 0.25 ns
constexpr double k_machine = 0.25e-3;

// Two phases, with instructions before the loop, before its first phase, and after it.
void compute(TestRun& run, int iterations = 3) {
  run.compute(k_instructions);
  run.runtime.loop_begin("main");
  run.compute(k_instructions);
  for (int i = 0; i < iterations; ++i) {
    run.runtime.phase("solve");
    run.compute(k_instructions);
    run.runtime.phase("output");
    run.compute(k_instructions);
  }
  run.runtime.loop_end();
  run.compute(k_instructions);
}

double core(const TestRun& run) { return run.vm.account().core.value; }

TEST(CoreTimesOfPhases, TwoPhases_TakeTheirOwnTimes) {
  TestRun run({.planner = "slow-only", .core_times = {{{"solve", {1e-9}}, {"out*", {3e-9}}, {"*", {9e-9}}}}});
  compute(run);
  run.runtime.finish("exit");
  const auto phases = run.records<profile::PhaseRecord>();
  ASSERT_EQ(phases.size(), 6U);
  for (const auto& phase : phases)
    EXPECT_NEAR((phase.ended - phase.begun).value, phase.name == "solve" ? 1e-3 : 3e-3, 1e-15) << phase.name;
  // The last pattern has the time of code outside of the phases.
  EXPECT_NEAR(core(run), 3 * (1e-3 + 3e-3) + 3 * 9e-3, 1e-14);
}

TEST(CoreTimesOfPhases, OutsideOfTheLoop_UsesBeforeAndAfter) {
  TestRun run({.planner = "slow-only", .core_times = {{{"before", {2e-9}}, {"after", {5e-9}}}}});
  compute(run, 2);
  EXPECT_NEAR(core(run), 2 * 2e-3 + 2 * 2 * k_machine + 5e-3, 1e-14);
  run.runtime.loop_begin("again");
  run.compute(k_instructions);
  EXPECT_NEAR(core(run), 2 * 2e-3 + 2 * 2 * k_machine + 5e-3 + 2e-3, 1e-14);
}

TEST(CoreTimesOfPhases, Profiles_HaveThePhasesTimes) {
  TestRun run({.planner = "unimem", .keep_exact = true, .core_times = {{{"output", {3e-9}}}}});
  compute(run, 2);
  run.runtime.finish("exit");
  const auto iterations = run.records<profile::IterationRecord>();
  ASSERT_EQ(iterations.size(), 3U);  // the first one sampled, both exact
  for (const auto& [exact, iteration, places, anew] : iterations) {
    EXPECT_FALSE(anew);
    for (const auto& phase : iteration.phases) {
      const auto expected = phase.name == "output" ? 3e-3 : k_machine;
      // The sampling collector knows its samples' interval of 416 ns.
      EXPECT_NEAR(phase.core.value, expected, exact ? 1e-15 : 2 * 416e-9) << phase.name << exact;
    }
  }
}

TEST(CoreTimesOfPhases, Journal_HasEachNameOnce) {
  TestRun run({.planner = "slow-only", .core_times = {{{"solve", {1e-9}}}}});
  compute(run);
  run.runtime.finish("exit");
  std::map<std::string, double> times;
  for (const auto& record : run.records<profile::CoreTimeRecord>())
    EXPECT_TRUE(times.emplace(record.phase, record.instruction.value).second) << record.phase;
  EXPECT_EQ(times, (std::map<std::string, double>{
                       {"after", 0.25e-9}, {"before", 0.25e-9}, {"output", 0.25e-9}, {"solve", 1e-9}}));
}

TEST(CoreTimesOfPhases, NoneGiven_NothingIsWritten) {
  TestRun run({.planner = "slow-only"});
  compute(run);
  run.runtime.finish("exit");
  EXPECT_TRUE(run.records<profile::CoreTimeRecord>().empty());
  EXPECT_NEAR(core(run), 9 * k_machine, 1e-14);
}

// A skipped phase counts as the last observed one of its name, at that one's time.
TEST(CoreTimesOfPhases, SampledIterations_EstimatesUseTheObservedTimes) {
  TestRun run({.every = 16, .core_times = {{{"output", {3e-9}}}}});
  compute(run, 10);
  run.runtime.finish("exit");
  for (const auto& phase : run.records<profile::PhaseRecord>())
    EXPECT_NEAR((phase.ended - phase.begun).value, phase.name == "output" ? 3e-3 : k_machine, 1e-14)
        << phase.iteration;
}

}  // namespace
}  // namespace terrace::runtime
