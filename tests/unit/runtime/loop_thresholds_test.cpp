// Each threshold of what is taken for the main loop, from both sides.
#include <gtest/gtest.h>

#include <algorithm>

#include "loop_program.hpp"

namespace terrace::runtime {
namespace {

// Six turns of one loop: how many of them are told of. `after`: what was done before it; `within`: another loop
// around.
struct Turns {
  std::uint64_t same = 32;                      // regions that each turn misses in, of 100: the others are new
  observe::Work work = k_much, other = k_much;  // of every other turn
  observe::Work after = 0;
  bool within = false;
};
std::ptrdiff_t told(const Turns& of) {
  Program program({{1, {.last = 1}}, {2, {.last = 3}}, {3, {.around = 2, .last = 3}}});
  program.run(9, 0, of.after, 1 << 20);
  const LoopId loop = of.within ? 3 : 1;
  // The outer loop is known to be no main loop.
  for (int i = 0; of.within && i < 5; ++i) program.turn(2);
  for (std::uint64_t i = 0; i < 6; ++i) {
    program.turn(loop);
    program.call(3, loop);
    program.work(i % 2 == 0 ? of.work : of.other, 0, of.same);
    program.work(0, 1000 * (i + 1), of.same < 32 || of.same > 32 ? 100 - of.same : 0);
    program.leave();
  }
  program.leave();
  return std::ranges::count_if(program.log, [](const auto& line) { return line == "f3" || line == "loop 1"; });
}

TEST(LoopFinder, TurnsMissInTheSameMemoryToFourFifths) {
  EXPECT_EQ(told({.same = 80}), 4);
  EXPECT_EQ(told({.same = 79}), 0);
}

TEST(LoopFinder, ATurnTakesHalfAsMuchAsAnotherAtLeast) {
  EXPECT_EQ(told({.work = k_much, .other = 2 * k_much}), 4);
  EXPECT_EQ(told({.work = k_much, .other = 2 * k_much + 2}), 0);
}

TEST(LoopFinder, ATurnInAnotherLoopHasAQuarterOfAMillionInstructions) {
  EXPECT_EQ(told({.work = 1 << 18, .other = 1 << 18, .within = true}), 4);
  EXPECT_EQ(told({.work = (1 << 18) - 1, .other = (1 << 18) - 1, .within = true}), 0);
  EXPECT_EQ(told({.work = 1 << 14, .other = 1 << 14}), 4) << "one that is in no other, and does most of the run";
  EXPECT_EQ(told({.work = (1 << 14) - 1, .other = (1 << 14) - 1}), 0);
}

// A twentieth: of 57 and 3 turns' work, 3 are.
TEST(LoopFinder, ALoopDoesATwentiethOfTheRunSoFar) {
  EXPECT_EQ(told({.after = 38 * k_much}), 4);
  EXPECT_EQ(told({.after = 39 * k_much}), 3);
  EXPECT_EQ(told({.after = 57 * k_much}), 3);
  EXPECT_EQ(told({.after = 58 * k_much}), 2);
}

}  // namespace
}  // namespace terrace::runtime
