// Tests recordings that skip iterations, against complete recordings of the same program.
#include <gtest/gtest.h>

#include <vector>

#include "runtime_fixture.hpp"

namespace terrace::runtime {
namespace {

struct RunOutcome {
  Seconds time;  // without sampling costs: skipped iterations have none
  profile::CountersRecord counters;
  std::vector<profile::PhaseRecord> phases;
  std::vector<std::uint32_t> profiled;  // iterations
  profile::LoopEndRecord loop;
};

template <class Program>
RunOutcome record(std::uint32_t every, Program program) {
  TestRun run({.every = every});
  program(run);
  RunOutcome seen{run.vm.now() - run.paid_for_samples(),
                  run.records<profile::CountersRecord>().back(),
                  run.records<profile::PhaseRecord>(),
                  {},
                  run.records<profile::LoopEndRecord>().back()};
  seen.counters.charged -= run.paid_for_samples();
  for (const auto& iteration : run.records<profile::IterationRecord>())
    seen.profiled.push_back(iteration.iteration.number);
  return seen;
}

// Equal up to the last digits, because sums are taken in another order.
void expect_same(const RunOutcome& seen, const RunOutcome& whole) {
  EXPECT_NEAR(seen.time.value, whole.time.value, 1e-12 * whole.time.value);
  ASSERT_EQ(seen.phases.size(), whole.phases.size());
  for (std::size_t i = 0; i < seen.phases.size(); ++i) {
    EXPECT_EQ(seen.phases[i].name, whole.phases[i].name);
    const auto took = (whole.phases[i].ended - whole.phases[i].begun).value;
    EXPECT_NEAR((seen.phases[i].ended - seen.phases[i].begun).value, took, 1e-9 * took) << i;
  }
  EXPECT_EQ(seen.counters.accesses, whole.counters.accesses);
  EXPECT_EQ(seen.counters.misses, whole.counters.misses);
  for (const auto part : {&profile::CountersRecord::core, &profile::CountersRecord::exposed,
                          &profile::CountersRecord::bandwidth_bound, &profile::CountersRecord::charged})
    EXPECT_NEAR((seen.counters.*part).value, (whole.counters.*part).value, 1e-9 * (whole.counters.*part).value);
}

TEST(SampledIterations, SkippedIterations_CountAsTheLastObserved) {
  const auto program = [](TestRun& run) {
    run.sweep(run.cold, 1);
    run.iterate(11);
  };
  const auto seen = record(4, program);
  expect_same(seen, record(1, program));
  EXPECT_EQ(seen.profiled, (std::vector<std::uint32_t>{0, 1, 5, 6}));
  EXPECT_EQ(seen.loop.iterations, 11U);
  EXPECT_EQ(seen.loop.observed, 4U);
  for (const auto& phase : seen.phases)
    EXPECT_EQ(phase.observed, phase.iteration < 2 || phase.iteration == 5 || phase.iteration == 6);
}

TEST(SampledIterations, AfterTheLoop_IsObservedAgain) {
  const auto program = [](TestRun& run) {
    run.runtime.loop_begin("main");
    for (int i = 0; i < 5; ++i) {
      run.runtime.phase("solve");
      run.sweep(run.hot, 1);
    }
    EXPECT_EQ(run.observed, run.choice.every == 1);
    run.runtime.loop_end();
    EXPECT_TRUE(run.observed);
    run.sweep(run.cold, 1);
    run.runtime.finish("exit");
  };
  expect_same(record(100, program), record(1, program));
}

// As on real memory, where loops are detected by the clock, which stands while accesses are observed.
TEST(SampledIterations, LoopEnd_NothingObservedOutside_EndsObserving) {
  TestRun run({.keep_exact = true, .observes_outside = false});
  for (int loop = 0; loop < 2; ++loop) {
    run.runtime.loop_begin("main");
    run.runtime.phase("solve");
    EXPECT_TRUE(run.observed);
    run.runtime.loop_end();
    EXPECT_FALSE(run.observed);
  }
  run.runtime.finish("exit");
}

TEST(SampledIterations, NewPhase_IsObservedAtOnce) {
  const auto program = [](TestRun& run) {
    run.runtime.loop_begin("main");
    for (int i = 0; i < 12; ++i) {
      run.runtime.phase("solve");
      run.sweep(run.hot, 1);
      if (i >= 6) {
        run.runtime.phase("refine");
        run.sweep(run.cold, 1);
      }
    }
    run.runtime.loop_end();
    run.runtime.finish("exit");
  };
  const auto seen = record(100, program);
  expect_same(seen, record(1, program));
  // The profile would have half of iteration 6, so the next one represents it.
  EXPECT_EQ(seen.profiled, (std::vector<std::uint32_t>{0, 1, 7}));
}

TEST(SampledIterations, SleepsInSkippedIterations_AdvanceTheClock) {
  const auto program = [](TestRun& run) {
    run.runtime.loop_begin("main");
    for (int i = 0; i < 6; ++i) {
      run.runtime.phase("solve");
      run.sweep(run.hot, 1);
      run.vm.charge(Seconds{0.25 * i});
    }
    run.runtime.loop_end();
    run.runtime.finish("exit");
  };
  expect_same(record(100, program), record(1, program));
}

TEST(SampledIterations, SecondThread_EndsSampling) {
  TestRun run({.every = 100});
  run.runtime.loop_begin("main");
  for (int i = 0; i < 6; ++i) {
    run.runtime.phase("solve");
    if (i == 3) {
      EXPECT_FALSE(run.observed);
      run.runtime.on_multithreaded();
    }
    EXPECT_EQ(run.observed, i != 2) << i;
    run.sweep(run.hot, 1);
  }
  run.runtime.loop_end();
  EXPECT_EQ(run.records<profile::LoopEndRecord>().back().observed, 4U);
  std::vector<bool> observed;
  for (const auto& phase : run.records<profile::PhaseRecord>()) observed.push_back(phase.observed);
  EXPECT_EQ(observed, (std::vector<bool>{true, true, false, false, true, true}));
}

}  // namespace
}  // namespace terrace::runtime
