// Tests the first plan, which is followed while the best one is computed: from the middle of an iteration on, with
// all data where it has them at that point.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "runtime_fixture.hpp"

namespace terrace::runtime {
namespace {

// Events of one iteration: each object is swept in a phase of its own, four times; the last one 32 times.
void iterate(TestRun& run, const std::vector<ObjectId>& objects) {
  static const char* const names[] = {"hot", "cold", "late"};
  for (std::size_t i = 0; i < objects.size(); ++i) {
    run.runtime.phase(names[i]);
    run.sweep(objects[i], i + 1 < objects.size() ? 4 : 32);
  }
}

TEST(FirstPlan, BestPlanPending_FirstPlanBeginsWithTheNextPhase) {
  TestRun run;
  const std::vector<ObjectId> objects{run.hot, run.cold, run.add_late()};
  run.set_up(Seconds{10});
  run.runtime.loop_begin("main");
  iterate(run, objects);
  const auto learned = run.vm.now();
  iterate(run, objects);
  const auto second = run.vm.now();
  // Capacity for one object and a little: the first plan places the one that gains most, whatever the phase.
  EXPECT_GE(run.in_fast_memory(objects.back()), 3 * k_mib);
  for (int i = 0; i < 4; ++i) iterate(run, objects);
  run.runtime.loop_end();
  run.runtime.finish("exit");

  const auto plans = run.records<profile::PlanRecord>();
  ASSERT_FALSE(plans.empty());
  EXPECT_EQ(plans[0].plan.planner, "stay");
  EXPECT_GT(plans[0].at, learned);
  EXPECT_LT(plans[0].at, second);  // not at the begin of an iteration
  if (plans.size() > 1) {
    EXPECT_EQ(plans[1].plan.planner, "auto");
    EXPECT_LT(plans[1].plan.predicted, plans[0].plan.predicted);
    EXPECT_GT(plans[1].at, plans[0].at);
  }
  // The second iteration has most of what it needs, and the third waits no longer than it.
  std::vector<Seconds> begun;
  for (const auto& phase : run.records<profile::PhaseRecord>())
    if (phase.index == 0) begun.push_back(phase.begun);
  ASSERT_GT(begun.size(), 4U);
  EXPECT_LT(begun[2] - begun[1], 0.5 * (begun[1] - begun[0]));
  EXPECT_NEAR((begun[3] - begun[2]) / (begun[2] - begun[1]), 1, 0.05);
  EXPECT_LE(run.ledger.held(0).value, 5 * k_mib);
}

// A planner that needs no profile, or has no faster variant, has its plan adopted when it is complete.
TEST(FirstPlan, PlannerWithoutFastPlan_HasOnlyOne) {
  TestRun run({.planner = "unimem"});
  run.iterate(12);
  const auto plans = run.records<profile::PlanRecord>();
  ASSERT_EQ(plans.size(), 1U);
  EXPECT_EQ(plans[0].plan.planner, "unimem");
}

}  // namespace
}  // namespace terrace::runtime
