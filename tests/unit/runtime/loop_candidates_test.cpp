// Tests which loops could have been the main loop, and their shares, in programs whose loops are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "loop_program.hpp"

namespace terrace::runtime {
namespace {

// The step loop is entered while iterations of a set-up loop are unobserved: its shares are those of the program.
TEST(LoopCandidates, SeveralLoopsAnySampling_SharesAndVisitsMatchTheProgram) {
  for (const int every : {1, 4}) {
    Program program({{1, {.last = 1}}, {2, {.last = 2}}, {3, {.last = 3}}});
    for (int i = 0; i < 20; ++i) {
      program.turn(1);
      if (program.log.size() > 1) program.see(i % every == 0);
      program.run(3, 1, k_much);
    }
    for (int i = 0; i < 20; ++i) {
      program.turn(2);
      if (program.log.back() != "end" && program.log.back() != "f3") program.see(i % every == 0);
      program.run(4, 2, 2 * k_much);
      program.call(5, 2);
      for (int j = 0; j < 10; ++j) {
        program.turn(3);
        program.run(6, 3, k_much / 5);
      }
      program.leave();
    }
    for (std::uint64_t i = 0; i < 10; ++i) {
      program.turn(1);
      program.run(3, 1, k_much / 2, 100 * i);
    }
    program.leave();
    const auto loops = program.candidates();
    ASSERT_EQ(loops.size(), 3u) << every;
    EXPECT_EQ(loops[0].name, "loop 2");
    EXPECT_EQ(loops[0].verdict, "");
    EXPECT_TRUE(loops[0].is_taken);
    EXPECT_NEAR(loops[0].share, 80 / 105.0, 0.03) << every;
    EXPECT_NEAR(loops[0].begins_at, 20 / 105.0, 0.03) << every;
    EXPECT_EQ(loops[0].visits, 1u);
    EXPECT_EQ(loops[0].turns, 20u);
    EXPECT_EQ(loops[1].name, "loop 1");
    EXPECT_TRUE(loops[1].is_taken);
    EXPECT_NEAR(loops[1].share, 25 / 105.0, 0.03) << every;
    EXPECT_EQ(loops[1].verdict, "chosen at first, but another loop does more of the work");
    EXPECT_EQ(loops[2].name, "loop 3");
    EXPECT_FALSE(loops[2].is_taken);
    EXPECT_EQ(loops[2].verdict, "within the main loop");
    EXPECT_NEAR(loops[2].share, 40 / 105.0, 0.03) << every;
    EXPECT_EQ(loops[2].visits, 20u) << every;
    EXPECT_NEAR(static_cast<double>(loops[2].turns), 200, 10) << every;
  }
}

// Set-up and steps run the same inner loop, which does more than the steps themselves and is selected before them.
TEST(LoopCandidates, InnerLoopAlsoRunBySetUp_MainLoopIsTheTimeStepLoop) {
  for (const int every : {1, 2}) {
    Program program({{1, {.last = 1}}, {2, {.last = 2}}});
    const auto inner = [&program](LoopId from) {
      program.call(5, from);
      for (int j = 0; j < 10; ++j) {
        program.turn(2);
        program.run(6, 2, k_much);
      }
      program.leave();
    };
    for (int i = 0; i < 3; ++i) inner(0);
    for (int i = 0; i < 20; ++i) {
      program.turn(1);
      if (program.log.back() != "end") program.see(i < 6 || i % every == 0);
      program.work(k_much / 2);
      inner(1);
    }
    program.leave();
    const auto loops = program.candidates();
    ASSERT_EQ(loops.size(), 2u) << every;
    EXPECT_EQ(loops[0].name, "loop 2");
    EXPECT_TRUE(loops[0].is_taken);
    EXPECT_NEAR(loops[0].share, 230 / 240.0, 0.01) << every;
    EXPECT_EQ(loops[0].turns, 230u) << every;
    EXPECT_EQ(loops[0].verdict, "within the main loop") << every;
    EXPECT_EQ(loops[1].name, "loop 1");
    EXPECT_NEAR(loops[1].share, 210 / 240.0, 0.01) << every;
    EXPECT_EQ(loops[1].turns, 20u) << every;
    EXPECT_EQ(loops[1].verdict, "") << every;
  }
}

TEST(LoopCandidates, SelectedLoopDoesLittleOfTheRun_NoneIsTheMainLoop) {
  Program program({{1, {.last = 1}}, {2, {.last = 2}}});
  for (int i = 0; i < 20; ++i) {
    program.turn(1);
    program.call(3, 1);
    for (int j = 0; j < 10; ++j) {
      program.turn(2);
      program.run(5, 2, k_much / 10);
    }
    program.leave();
  }
  program.run(4, 0, 60 * k_much);
  program.leave();
  const auto loops = program.candidates();
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_TRUE(loops[0].is_taken);
  EXPECT_EQ(loops[0].verdict, "chosen at first, but it does too little of the work");
  EXPECT_EQ(loops[1].name, "loop 2");
  EXPECT_EQ(loops[1].verdict, "within loop 1");
}

// Set-up spends 100 in a loop in which the steps spend 20 of their 140.
TEST(LoopCandidates, LoopMostlyRunBySetUp_IsNotWithinTheMainLoop) {
  Program program({{1, {.last = 1}}, {2, {.last = 2}}});
  program.call(5, 0);
  for (int i = 0; i < 100; ++i) {
    program.turn(2);
    program.run(6, 2, k_much);
  }
  program.leave();
  for (int i = 0; i < 20; ++i) {
    program.turn(1);
    program.run(4, 1, 6 * k_much);
    program.call(5, 1);
    for (int j = 0; j < 2; ++j) {
      program.turn(2);
      program.run(6, 2, k_much / 2);
    }
    program.leave();
  }
  program.leave();
  const auto loops = program.candidates();
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].name, "loop 1");
  EXPECT_EQ(loops[0].verdict, "");
  EXPECT_EQ(loops[1].name, "loop 2");
  EXPECT_NEAR(loops[1].share, 120 / 240.0, 0.01);
  EXPECT_EQ(loops[1].verdict, "chosen at first, but another loop does more of the work");
}

// The function of the loop calls itself in each iteration.
TEST(LoopCandidates, RecursiveLoop_CountsItsWorkOnce) {
  Program program({{1, {.last = 1}}});
  for (int i = 0; i < 20; ++i) {
    program.turn(1);
    program.call(5, 1);
    for (int j = 0; j < 10; ++j) {
      program.turn(1);
      program.run(6, 1, k_much / 10);
    }
    program.leave();
  }
  program.leave();
  const auto loops = program.candidates();
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_NEAR(loops[0].share, 1, 0.01);
}

TEST(LoopCandidates, LoopOfTwoIterations_EndsBeforeTheirComparison) {
  Program program({{1, {.last = 1}}, {2, {.last = 2}}});
  program.call(5, 0);
  for (int i = 0; i < 2; ++i) {
    program.turn(1);
    program.run(6, 1, i == 0 ? 5 * k_much : 2 * k_much);
  }
  program.leave();
  for (int i = 0; i < 20; ++i) {
    program.turn(2);
    program.run(4, 2, k_much);
  }
  program.leave();
  const auto loops = program.candidates();
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[1].name, "loop 1");
  EXPECT_EQ(loops[1].verdict, "it was over before its iterations could be compared");
}

// Each loop iterates twice and begins the next one in its second iteration; the innermost one works.
TEST(LoopCandidates, MoreLoopsThanTheLimit_SelectedAndLargestAreListed) {
  std::map<LoopId, observe::LoopCode::Loop> code;
  for (LoopId loop = 1; loop <= 21; ++loop) code[loop] = {.last = loop};
  Program program(std::move(code));
  for (LoopId loop = 1; loop <= 20; ++loop) {
    program.turn(loop);
    program.turn(loop);
    program.run(4, loop, k_much);
    program.call(100 + loop, loop);
  }
  for (int i = 0; i < 200; ++i) {
    program.turn(21);
    program.run(6, 21, k_much);
  }
  for (int i = 0; i < 21; ++i) program.leave();
  const auto loops = program.candidates();
  const auto taken = std::ranges::count_if(loops, &profile::LoopCandidate::is_taken);
  ASSERT_EQ(loops.size() - static_cast<std::size_t>(taken), 16u);
  for (std::size_t i = 0; i < 16; ++i)
    EXPECT_EQ(loops[loops.size() - 16 + i].name, "loop " + std::to_string(i + 1));
}

// Reading input takes most of the time, in a library without hooks. `counted`: work that hooks count meanwhile.
TEST(LoopCandidates, LoopLongByClockOnly_FewCountedInstructions_IsRejectedForGood) {
  const auto main_loop_of = [](observe::Work counted, bool is_named) {
    Program program({{1, {.last = 1}}, {2, {.last = 2}}}, is_named ? "loop 1" : "");
    program.go_by_clock();
    const auto run = [&](LoopId loop, int turns, observe::Work seen) {
      for (int i = 0; i < turns; ++i) {
        program.turn(loop);
        const bool observes = i >= 3 && i < 6;
        program.see(!observes);
        program.run(3, loop, observes ? seen : k_much);
      }
      program.see(true);
      program.run(4, 0, k_much);
    };
    run(1, 40, counted);
    run(2, 20, k_much);
    program.leave();
    EXPECT_EQ(std::ranges::count(program.log, "begin loop 1"), 1) << "a loop that was refuted is not taken again";
    return program.candidates();
  };
  const auto refuted = main_loop_of(1 << 12, false);
  ASSERT_EQ(refuted.size(), 2u);
  EXPECT_EQ(refuted[0].verdict, "chosen at first, but its iterations execute too few instructions");
  EXPECT_TRUE(refuted[0].is_taken);
  EXPECT_EQ(refuted[1].name, "loop 2");
  EXPECT_EQ(refuted[1].verdict, "");
  const auto confirmed = main_loop_of(k_much, false);
  ASSERT_EQ(confirmed.size(), 2u);
  EXPECT_EQ(confirmed[0].name, "loop 1");
  EXPECT_EQ(confirmed[0].verdict, "");
  EXPECT_EQ(main_loop_of(0, false)[0].verdict, "") << "nothing was counted where no hook was reached";
  main_loop_of(1 << 12, true);
}

TEST(LoopCandidates, LoopWasNamed_ListIsEmpty) {
  Program program({{1, {.last = 1}}}, "loop 1");
  for (int i = 0; i < 20; ++i) {
    program.turn(1);
    program.run(3, 1, k_much);
  }
  program.leave();
  EXPECT_EQ(program.log.front(), "begin loop 1");
  EXPECT_TRUE(program.candidates().empty());
}

}  // namespace
}  // namespace terrace::runtime
