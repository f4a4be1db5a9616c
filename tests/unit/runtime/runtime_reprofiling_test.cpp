// Tests programs whose behaviour changes: they are profiled and planned again, and end up as fast as a run with
// the new behaviour alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "runtime_fixture.hpp"

namespace terrace::runtime {
namespace {

// "solve" sweeps the hot object eight times, or the late one; "output" sweeps the cold one once.
void iterate(TestRun& run, ObjectId late, int iterations, bool turned) {
  for (int i = 0; i < iterations; ++i) {
    run.runtime.phase("solve");
    run.sweep(run.hot, turned ? 1 : 8);
    run.sweep(late, turned ? 8 : 1);
    run.runtime.phase("output");
    run.sweep(run.cold, 1);
  }
}

void finish(TestRun& run) {
  run.runtime.loop_end();
  run.runtime.finish("exit");
}

TEST(Reprofiling, PatternChanges_ProfilesAgain) {
  TestRun run({.planner = "global"});  // makes no moves in later iterations
  const auto late = run.add_late();
  run.runtime.loop_begin("main");
  iterate(run, late, 40, false);
  iterate(run, late, 40, true);
  finish(run);

  TestRun second_half({.planner = "global"});
  const auto its_late = second_half.add_late();
  second_half.runtime.loop_begin("main");
  iterate(second_half, its_late, 40, true);
  finish(second_half);
  // All of the late object, and as much as fits of the two others, which are equivalent.
  for (ChunkId chunk = 0; chunk < run.chunks.size(); ++chunk)
    if (run.chunks[chunk].object == late) {
      EXPECT_EQ(run.chunks[chunk].place.load(), 0) << chunk;
      EXPECT_EQ(second_half.chunks[chunk].place.load(), 0) << chunk;
    }
  EXPECT_EQ(run.ledger.held(0).value, second_half.ledger.held(0).value);

  const auto plans = run.records<profile::PlanRecord>();
  ASSERT_EQ(plans.size(), 2U);
  EXPECT_EQ(plans[0].why, "learned in the first iteration");
  EXPECT_EQ(plans[1].why.find("learned again in iteration 43: phase 1, \"solve\", took "), 0U) << plans[1].why;
  EXPECT_NE(plans[1].why.find(", 2 iterations running"), std::string::npos) << plans[1].why;
  const auto profiled = run.records<profile::IterationRecord>();
  ASSERT_EQ(profiled.size(), 2U);
  EXPECT_FALSE(profiled[0].anew);
  EXPECT_TRUE(profiled[1].anew);
  EXPECT_EQ(profiled[1].iteration.number, 42U);
  // As fast in the end as the run without the earlier behaviour.
  const auto last = [](TestRun& of) {
    const auto phases = of.records<profile::PhaseRecord>();
    return (phases.back().ended - phases[phases.size() - 2].begun).value;
  };
  EXPECT_NEAR(last(run), last(second_half), 1e-6 * last(second_half));
}

TEST(Reprofiling, PatternAlternates_DoesNotProfileAgain) {
  TestRun run({.planner = "global"});
  const auto late = run.add_late();
  run.runtime.loop_begin("main");
  for (int i = 0; i < 60; ++i) iterate(run, late, 1, i % 2 == 1);
  finish(run);
  EXPECT_EQ(run.records<profile::PlanRecord>().size(), 1U);
  EXPECT_EQ(run.records<profile::IterationRecord>().size(), 1U);
}

// Three iterations of one kind, three of the other: noticed once or twice, then ignored.
TEST(Reprofiling, PatternChangesBackAndForth_ProfilesSeldom) {
  TestRun run({.planner = "global"});
  const auto late = run.add_late();
  run.runtime.loop_begin("main");
  for (int i = 0; i < 120; ++i) iterate(run, late, 1, i / 3 % 2 == 1);
  finish(run);
  EXPECT_LE(run.records<profile::IterationRecord>().size(), 4U);
}

TEST(Reprofiling, GivenPlan_NeverProfiles) {
  Plan plan;
  plan.objects.push_back({"hot", Bytes{4 * k_mib}, 1, false, {{{0, 1}, "fast"}}});
  TestRun run({.plan = plan});
  const auto late = run.add_late();
  run.runtime.loop_begin("main");
  iterate(run, late, 20, false);
  iterate(run, late, 20, true);
  finish(run);
  EXPECT_EQ(run.records<profile::PlanRecord>().size(), 1U);
  EXPECT_TRUE(run.records<profile::IterationRecord>().empty());
}

// With the planner that moves chunks in every iteration: the budget holds, and the second half is about as fast as
// in a run of its own.
TEST(Reprofiling, PlanWithMoves_ProfilesAgainWithinTheBudget) {
  TestRun run;
  const auto late = run.add_late();
  run.runtime.loop_begin("main");
  iterate(run, late, 60, false);
  iterate(run, late, 60, true);
  finish(run);
  TestRun second_half;
  const auto its_late = second_half.add_late();
  second_half.runtime.loop_begin("main");
  iterate(second_half, its_late, 60, true);
  finish(second_half);
  const auto plans = run.records<profile::PlanRecord>();
  EXPECT_EQ(run.records<profile::IterationRecord>().size(), 2U) << "the first one, and one of the second half";
  EXPECT_TRUE(plans.back().why.starts_with("learned again"));
  const auto last = [](TestRun& of) {
    const auto phases = of.records<profile::PhaseRecord>();
    return (phases.back().ended - phases[phases.size() - 2].begun).value;
  };
  EXPECT_LE(last(run), 1.03 * last(second_half));
  EXPECT_LE(run.ledger.held(0).value, 5 * k_mib);
}

}  // namespace
}  // namespace terrace::runtime
