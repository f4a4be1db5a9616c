// Which loops could have been the main loop, with their shares, in programs whose loops are known.
#include <gtest/gtest.h>

#include <cstdint>

#include "loop_program.hpp"

namespace terrace::runtime {
namespace {

// The step loop is entered while turns of a set-up loop are left out: its shares are those of the program.
TEST(LoopCandidates, SeveralLoopsAnySampling_SharesAndVisitsAreThePrograms) {
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
    EXPECT_EQ(loops[1].verdict, "taken for a while: it does less of the run");
    EXPECT_EQ(loops[2].name, "loop 3");
    EXPECT_FALSE(loops[2].is_taken);
    EXPECT_EQ(loops[2].verdict, "within the main loop");
    EXPECT_NEAR(loops[2].share, 40 / 105.0, 0.03) << every;
    EXPECT_EQ(loops[2].visits, 20u) << every;
    EXPECT_NEAR(static_cast<double>(loops[2].turns), 200, 10) << every;
  }
}

// Set-up and steps run the same inner loop, which does more than the steps themselves, and is taken before them.
TEST(LoopCandidates, InnerLoopAlsoRunBySetUp_MainLoopIsTheLoopOfSteps) {
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

TEST(LoopCandidates, TakenLoopDoesLittleOfTheRun_NoneIsTheMainLoop) {
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
  EXPECT_EQ(loops[0].verdict, "taken for a while: it does little of the run");
  EXPECT_EQ(loops[1].name, "loop 2");
  EXPECT_EQ(loops[1].verdict, "within loop 1");
}

TEST(LoopCandidates, LoopWasNamed_ThereAreNone) {
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
