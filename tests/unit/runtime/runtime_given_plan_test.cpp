// Tests a plan made for smaller objects: a move without capacity does not delay the moves after it.
#include <gtest/gtest.h>

#include <vector>

#include "runtime_fixture.hpp"

namespace terrace::runtime {
namespace {

// Returns a plan of a run whose objects had half the size, with capacity for one chunk more than here: `cold` is
// promoted before `hot` is demoted.
Plan plan_of_a_smaller_run() {
  Plan plan;
  plan.planner = "hand";
  plan.machine = "two";
  plan.loop = "main";
  plan.budget = {"dram=5MiB"};
  plan.phases = {"solve", "output"};
  plan.objects = {{"hot", Bytes{2 * k_mib}, 32, false, {{{0, 32}, "dram"}}},
                  {"cold", Bytes{8 * k_mib}, 128, false, {{{0, 32}, "dram"}}}};
  plan.moves = {{1, {32, 32}, "dram", 0, 1, false, {}, {}},
                {0, {0, 32}, "nvm", 0, 1, false, {}, {}},
                {0, {0, 32}, "dram", 1, 2, true, {}, {}},
                {1, {32, 32}, "nvm", 1, 2, false, {}, {}}};
  return plan;
}

TEST(CarriedPlan, CapacityMissing_LaterMovesProceed) {
  TestRun run({.plan = plan_of_a_smaller_run()});
  run.iterate(4);
  EXPECT_LE(run.max_held(), 5 * k_mib);
  // No move waits for another: each is done in the iteration in which it was requested.
  const auto phases = run.records<profile::PhaseRecord>();
  std::size_t moved = 0;
  for (const auto& record : run.records<profile::TransfersRecord>())
    for (const auto& transfer : record.transfers) {
      EXPECT_FALSE(transfer.refused);
      moved += transfer.size.value > 0 ? 1 : 0;
      EXPECT_LT(transfer.begun - transfer.asked, phases[1].ended - phases[0].begun);
    }
  EXPECT_GT(moved, 64U);
}

// No thread waits for these moves, and the program needs no bandwidth meanwhile: each takes as long as its rate
// says.
TEST(CarriedPlan, MovesWithoutWaiters_RunAtThePlansRate) {
  auto plan = plan_of_a_smaller_run();
  plan.rate_limits = {0.25, 1};
  TestRun run({.plan = plan});
  run.runtime.loop_begin("main");
  for (int i = 0; i < 3; ++i) {
    run.runtime.phase("solve");
    run.compute(100'000'000);
    run.runtime.phase("output");
    run.compute(100'000'000);
  }
  run.runtime.loop_end();
  run.runtime.finish("exit");
  std::size_t paced = 0, unpaced = 0;
  const auto phases = run.records<profile::PhaseRecord>();
  for (const auto& record : run.records<profile::TransfersRecord>())
    for (const auto& transfer : record.transfers) {
      if (transfer.size.value == 0 || transfer.begun == transfer.done) continue;
      const auto rate = static_cast<double>(transfer.size.value) / (transfer.done - transfer.begun).value;
      const bool in_solve = std::any_of(phases.begin(), phases.end(), [&](const profile::PhaseRecord& phase) {
        return phase.name == "solve" && phase.begun <= transfer.begun && transfer.done <= phase.ended;
      });
      const bool in_output = std::any_of(phases.begin(), phases.end(), [&](const profile::PhaseRecord& phase) {
        return phase.name == "output" && phase.begun <= transfer.begun && transfer.done <= phase.ended;
      });
      paced += in_solve ? 1 : 0;
      unpaced += in_output ? 1 : 0;
      if (in_solve) {
        EXPECT_NEAR(rate, 0.25 * 4e9, 1e-3 * 4e9);
      }
      if (in_output) {
        EXPECT_NEAR(rate, 4e9, 1e-3 * 4e9);
      }
    }
  EXPECT_GT(paced, 10U);
  EXPECT_GT(unpaced, 10U);
}

// If the program deviates from the plan, moves in flight are no longer rate-limited.
TEST(CarriedPlan, OtherPhases_PendingMovesRunAtFullRate) {
  auto plan = plan_of_a_smaller_run();
  plan.rate_limits = {0.01, 1};
  TestRun run({.plan = plan});
  run.runtime.loop_begin("main");
  run.runtime.phase("solve");
  run.compute(1'000'000);
  run.runtime.phase("other");
  run.compute(100'000'000);
  run.runtime.loop_end();
  run.runtime.finish("exit");
  const auto other = run.records<profile::PhaseRecord>().at(1);
  ASSERT_EQ(other.name, "other");
  std::size_t fast = 0;
  for (const auto& record : run.records<profile::TransfersRecord>())
    for (const auto& transfer : record.transfers) {
      if (transfer.size.value == 0 || transfer.begun < other.begun) continue;
      const auto rate = static_cast<double>(transfer.size.value) / (transfer.done - transfer.begun).value;
      EXPECT_NEAR(rate, 4e9, 1e-3 * 4e9);
      ++fast;
    }
  EXPECT_GT(fast, 10U);
}

// The planner's own plan follows after the first iteration, in which the given plan was followed.
TEST(CarriedPlan, RefinePlan_AdoptsThePlannersPlan) {
  TestRun kept({.plan = plan_of_a_smaller_run()}),
      bettered({.plan = plan_of_a_smaller_run(), .refine_plan = true});
  kept.iterate(6);
  bettered.iterate(6);
  EXPECT_EQ(kept.records<profile::PlanRecord>().size(), 1U);
  const auto plans = bettered.records<profile::PlanRecord>();
  ASSERT_GE(plans.size(), 2U);
  EXPECT_EQ(plans[0].why, "given by --plan");
  for (std::size_t p = 1; p < plans.size(); ++p)
    EXPECT_EQ(plans[p].why, "learned in the first iteration, under the plan that was given");
  EXPECT_LE(bettered.max_held(), 5 * k_mib);
  const auto iteration = [](TestRun& run, std::size_t i) {
    const auto phases = run.records<profile::PhaseRecord>();
    // Sampling costs are charged between phases.
    return phases.at(2 * i + 1).ended - phases.at(2 * i + 1).begun + phases.at(2 * i).ended -
           phases.at(2 * i).begun;
  };
  EXPECT_NEAR(iteration(bettered, 0).value, iteration(kept, 0).value, 0.02 * iteration(kept, 0).value);
  EXPECT_LT(iteration(bettered, 5), 0.9 * iteration(kept, 5));
}

// In an iteration with other phases, only the plan's initial placement applies.
TEST(CarriedPlan, OtherPhases_OnlyTheInitialPlacementRemains) {
  auto plan = plan_of_a_smaller_run();
  plan.phases = {"other", "solve", "output"};
  TestRun run({.plan = plan, .refine_plan = true});
  run.iterate(6);
  const auto plans = run.records<profile::PlanRecord>();
  ASSERT_GE(plans.size(), 2U);
  EXPECT_EQ(plans[1].why, "learned in the first iteration");
  EXPECT_LE(run.max_held(), 5 * k_mib);
}

}  // namespace
}  // namespace terrace::runtime
