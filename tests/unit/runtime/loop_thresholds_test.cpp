// Tests each threshold of the main loop's selection, from both sides.
#include <gtest/gtest.h>

#include <algorithm>

#include "loop_program.hpp"

namespace terrace::runtime {
namespace {

// Returns how many of six iterations of a loop are reported. `after`: work before the loop; `within`: it has an
// enclosing loop.
struct Turns {
  std::uint64_t same = 32;                      // regions of 100 in which each iteration misses; the rest are new
  observe::Work work = k_much, other = k_much;  // of alternate iterations
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

TEST(LoopFinder, IterationsMissInTheSameMemory_ThresholdIsFourFifths) {
  EXPECT_EQ(told({.same = 80}), 4);
  EXPECT_EQ(told({.same = 79}), 0);
}

TEST(LoopFinder, IterationWork_ThresholdIsHalfOfAnother) {
  EXPECT_EQ(told({.work = k_much, .other = 2 * k_much}), 4);
  EXPECT_EQ(told({.work = k_much, .other = 2 * k_much + 2}), 0);
}

TEST(LoopFinder, NestedIteration_ThresholdIsAQuarterMillionInstructions) {
  EXPECT_EQ(told({.work = 1 << 18, .other = 1 << 18, .within = true}), 4);
  EXPECT_EQ(told({.work = (1 << 18) - 1, .other = (1 << 18) - 1, .within = true}), 0);
  EXPECT_EQ(told({.work = 1 << 14, .other = 1 << 14}), 4) << "one that is in no other, and does most of the run";
  EXPECT_EQ(told({.work = (1 << 14) - 1, .other = (1 << 14) - 1}), 0);
}

// The threshold is a twentieth: 3 of 57 and 3 iterations' work are enough.
TEST(LoopFinder, ShareOfTheRun_ThresholdIsATwentieth) {
  EXPECT_EQ(told({.after = 38 * k_much}), 4);
  EXPECT_EQ(told({.after = 39 * k_much}), 3);
  EXPECT_EQ(told({.after = 57 * k_much}), 3);
  EXPECT_EQ(told({.after = 58 * k_much}), 2);
}

}  // namespace
}  // namespace terrace::runtime
