// Tests moves while a loop is profiled: data moves as soon as the observed accesses pay for it, if no iteration
// serves as the comparison.
#include <gtest/gtest.h>

#include <vector>

#include "runtime_fixture.hpp"

namespace terrace::runtime {
namespace {

// `hot` and `cold` are allocated first and fill fast memory; `late` is what the program works on.
struct EarlyMovesRun {
  explicit EarlyMovesRun(const RunChoice& choice) : run(choice), late(run.add_late()) { run.set_up(Seconds{10}); }
  void iterate(int iterations) {
    run.runtime.loop_begin("main");
    for (int i = 0; i < iterations; ++i) {
      begun.push_back(run.vm.now());
      run.runtime.phase("solve");
      run.sweep(late, 8);
      run.runtime.phase("more");
      came = i == 0 ? run.in_fast_memory(late) : came;
      run.sweep(late, 8);
      run.runtime.phase("output");
      run.sweep(run.hot, 1);
    }
    run.runtime.loop_end();
    run.runtime.finish("exit");
  }

  TestRun run;
  ObjectId late;
  std::vector<Seconds> begun;  // of each iteration
  std::uint64_t came = 0;      // bytes of `late` in fast memory when the second phase began
  std::uint64_t transfers_in(std::uint32_t iteration) {
    std::uint64_t count = 0;
    for (const auto& record : run.records<profile::TransfersRecord>())
      for (const auto& transfer : record.transfers) count += transfer.iteration == iteration ? 1 : 0;
    return count;
  }
};

TEST(EarlyMoves, LearnedIteration_MovesAsSoonAsItPays) {
  constexpr Seconds k_seldom{8320e-9};  // 20,000 cycles: sampling costs change times little
  EarlyMovesRun early({.sample_interval = k_seldom, .segments = true});
  early.iterate(12);
  EarlyMovesRun waits({.planner = "unimem",
                       .sample_interval = k_seldom,
                       .segments = true});  // has no first plan, and learns as published
  waits.iterate(12);
  EXPECT_EQ(early.came, 4 * k_mib);
  EXPECT_EQ(waits.came, 0U);
  // A chunk moves once it has lost what both moves cost, as one sample of 14 says.
  EXPECT_LT(early.begun[1] - early.begun[0], (waits.begun[1] - waits.begun[0]) * 0.7);
  EXPECT_LE(early.run.max_held(), 5 * k_mib);
  // The time of the phases is not counted against the estimates.
  const auto learned = early.run.records<profile::IterationRecord>();
  ASSERT_FALSE(learned.empty());
  EXPECT_TRUE(learned[0].anew);
  EXPECT_FALSE(waits.run.records<profile::IterationRecord>().at(0).anew);
  // The plan that follows is as good as that of an iteration without moves.
  EarlyMovesRun home({.undoes_losing_plans = true, .sample_interval = k_seldom, .segments = true});
  home.iterate(12);
  EXPECT_NEAR((early.begun[11] - early.begun[10]) / (home.begun[11] - home.begun[10]), 1, 0.02);
}

TEST(EarlyMoves, ComparedIteration_HasNoMoves) {
  for (const RunChoice& choice :
       {RunChoice{.undoes_losing_plans = true, .segments = true}, RunChoice{.every = 1, .segments = true},
        RunChoice{.planner = "slow-only", .segments = true}}) {
    EarlyMovesRun early(choice);
    early.iterate(3);
    EXPECT_EQ(early.transfers_in(0), 0U);
  }
}

TEST(EarlyMoves, RepeatedRun_MovesTheSame) {
  EarlyMovesRun one({.segments = true}), other({.segments = true});
  one.iterate(4);
  other.iterate(4);
  EXPECT_EQ(one.run.vm.now(), other.run.vm.now());
}

}  // namespace
}  // namespace terrace::runtime
