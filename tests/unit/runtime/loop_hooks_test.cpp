// Tests hooks that report a loop's iterations before, within or after its body: the number of iterations, and
// which inner loops become phases.
#include <gtest/gtest.h>

#include <algorithm>

#include "loop_program.hpp"

namespace terrace::runtime {
namespace {

// The hook is at the end of each iteration: there is none after the last.
TEST(LoopHooks, HookAtTheEndOfTheBody_CountsAsManyIterations) {
  Program program({{1, {.last = 1}}});
  for (int i = 0; i < 5; ++i) {
    program.access(1);
    program.run(3, 1, k_much);
    program.end_turn(1);
  }
  program.run(4, 0, k_much);
  program.leave();
  EXPECT_EQ(program.log, (Log{"begin loop 1", "f3", "f3", "f3", "end"}));
}

// No hook reports the inner loops; accesses do, now and then. While accesses are unobserved (`record` skips
// iterations; a real run), nothing would report their begin: their work belongs to the phase before them.
TEST(LoopHooks, InnerLoopsWithoutHooks_AreNoPhases) {
  const auto run = [](bool is_told, bool sees_all) {
    Program program({{1, {.last = 4}},
                     {2, {.around = 1, .last = 2}},
                     {3, {.around = 1, .last = 4}},
                     {4, {.around = 3, .last = 4}}});
    program.set_observes_all_iterations(sees_all);
    for (int i = 0; i < 3; ++i) {
      program.turn(1);
      if (is_told) program.enter(2);
      for (int j = 0; j < 4; ++j) {
        program.access(2);
        program.work(k_much / 4);
      }
      if (is_told) program.enter(3);
      for (int j = 0; j < 4; ++j) {
        program.access(4);
        program.work(k_much / 4, 50);
      }
      program.access(1);
    }
    program.leave();
    return program.log;
  };
  EXPECT_EQ(run(false, false), (Log{"begin loop 1", "loop 1"}));
  EXPECT_EQ(run(true, false), (Log{"begin loop 1", "loop 2", "loop 3"}));
  EXPECT_EQ(run(false, true), (Log{"begin loop 1", "loop 2", "loop 3"})) << "all accesses are seen";
}

// An iteration without observed accesses counts, too.
TEST(LoopHooks, UnobservedIterations_AreCounted) {
  Program program({{1, {.last = 1}}});
  for (int i = 0; i < 12; ++i) {
    if (i < 4) program.run(3, 1, k_much);
    program.end_turn(1);
    if (i == 3) program.see(false);
  }
  program.leave();
  EXPECT_EQ(std::ranges::count(program.log, "f3"), 10) << "the first two tell what it is";
}

// The hook may be behind the test at the loop's head or behind that at its end.
TEST(LoopHooks, HookAfterEitherTest_CountsTheProgramsIterations) {
  const auto turns = [](bool tests_at_end) {
    Program program({{1, {.last = 1}}});
    for (int i = 0; i < 60; ++i) {
      if (!tests_at_end) {
        program.access(1);
        program.work(100);
        program.turn(1);
      }
      program.run(3, 1, k_much);
      if (tests_at_end && i != 59) program.turn(1);
    }
    program.leave();
    return program.iterations_before + std::ranges::count(program.log, "f3");
  };
  EXPECT_EQ(turns(false), 60);
  EXPECT_EQ(turns(true), 60);
}

}  // namespace
}  // namespace terrace::runtime
