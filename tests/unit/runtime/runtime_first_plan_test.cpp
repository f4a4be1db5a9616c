// While the best plan is being made, a first one is obeyed: from the middle of an iteration on, with everything
// where it has it there.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "runtime_fixture.hpp"

namespace terrace::runtime {
namespace {

// Of one iteration: each object swept in a phase of its own, four times.
void iterate(TestRun& run, const std::vector<ObjectId>& objects) {
  static const char* const names[] = {"hot", "cold", "late"};
  for (std::size_t i = 0; i < objects.size(); ++i) {
    run.runtime.phase(names[i]);
    run.sweep(objects[i], 4);
  }
}

TEST(FirstPlan, IsThereBeforeTheBestOneFromThePhaseThatBeginsNext) {
  TestRun run;
  const std::vector<ObjectId> objects{run.hot, run.cold, run.add_late()};
  run.runtime.loop_begin("main");
  iterate(run, objects);
  const auto learned = run.vm.now();
  iterate(run, objects);
  const auto second = run.vm.now();
  // Room for one object and a little: the phase that comes first has its data there when its turn comes.
  run.runtime.phase("hot");
  EXPECT_GE(run.in_fast_memory(run.hot), 3 * k_mib);
  run.sweep(run.hot, 4);
  for (int i = 0; i < 4; ++i) iterate(run, objects);
  run.runtime.loop_end();
  run.runtime.finish("exit");

  const auto plans = run.records<profile::PlanRecord>();
  ASSERT_FALSE(plans.empty());
  EXPECT_EQ(plans[0].plan.planner, "stream");
  EXPECT_GT(plans[0].at, learned);
  EXPECT_LT(plans[0].at, second);  // not where an iteration begins
  if (plans.size() > 1) {
    EXPECT_EQ(plans[1].plan.planner, "auto");
    EXPECT_LT(plans[1].plan.predicted, plans[0].plan.predicted);
    EXPECT_GT(plans[1].at, plans[0].at);
  }
  // The third iteration has only what it needs to move.
  std::vector<Seconds> begun;
  for (const auto& phase : run.records<profile::PhaseRecord>())
    if (phase.index == 0) begun.push_back(phase.begun);
  ASSERT_GT(begun.size(), 4U);
  EXPECT_LT(begun[3] - begun[2], begun[2] - begun[1]);
  EXPECT_LT(begun[3] - begun[2], begun[1] - begun[0]);
  EXPECT_LE(run.ledger.held(0).value, 5 * k_mib);
}

// One that is decided without a profile, or has none that decides sooner, is adopted when it is made.
TEST(FirstPlan, IsTheOnlyOneOfAPlannerThatHasNoneSooner) {
  TestRun run({.planner = "unimem"});
  run.iterate(12);
  const auto plans = run.records<profile::PlanRecord>();
  ASSERT_EQ(plans.size(), 1U);
  EXPECT_EQ(plans[0].plan.planner, "unimem");
}

}  // namespace
}  // namespace terrace::runtime
