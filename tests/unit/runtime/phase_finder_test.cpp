// The search for the main loop in sequences of function entries whose loop is known.
#include "runtime/phase_finder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace terrace::runtime {
namespace {

using Event = PhaseFinder::Event;
using Functions = std::vector<PhaseFinder::Function>;

Event feed(PhaseFinder& finder, const Functions& entries) {
  Event last = Event::none;
  for (const auto function : entries) last = finder.entered(function).event;
  return last;
}

TEST(PhaseFinder, BelievesInAPeriodAfterThreeRounds) {
  PhaseFinder finder;
  feed(finder, {90, 91, 92});  // set-up
  for (int round = 0; round < 3; ++round) feed(finder, {1, 2, 3});
  EXPECT_EQ(finder.period(), (Functions{1, 2, 3}));
  EXPECT_EQ(finder.entered(1).event, Event::iteration);
  const auto second = finder.entered(2);
  EXPECT_EQ(second.event, Event::phase);
  EXPECT_EQ(second.position, 1U);
}

TEST(PhaseFinder, SaysNothingWhereNothingRepeats) {
  PhaseFinder finder;
  for (PhaseFinder::Function function = 0; function < 3000; ++function)
    EXPECT_EQ(finder.entered(function).event, Event::none);
  EXPECT_TRUE(finder.period().empty());
}

// The sequence of a solver: one outer step is A, 25 times B, C. The inner loop repeats first.
TEST(PhaseFinder, ClimbsFromTheInnerLoopToTheOuter) {
  PhaseFinder finder;
  Functions outer{7};
  outer.insert(outer.end(), 25, 8);
  outer.push_back(9);
  int iterations = 0;
  for (int step = 0; step < 12; ++step)
    for (const auto function : outer) {
      const auto found = finder.entered(function);
      if (found.event == Event::iteration && finder.period().size() == outer.size()) ++iterations;
    }
  ASSERT_EQ(finder.period().size(), outer.size());
  EXPECT_EQ(std::count(finder.period().begin(), finder.period().end(), 8U), 25);
  EXPECT_GE(iterations, 5);
}

TEST(PhaseFinder, DropsFunctionsThatAreEnteredTooOften) {
  PhaseFinder finder;
  std::mt19937 random(7);
  // A tiny function is called a varying number of times in every step, so that nothing repeats while it counts.
  for (int step = 0; step < 6000; ++step) {
    finder.entered(1);
    for (auto calls = random() % 9; calls > 0; --calls) finder.entered(99);
    finder.entered(2);
  }
  EXPECT_FALSE(finder.watched(99));
  EXPECT_TRUE(finder.watched(1));
  EXPECT_EQ(finder.period().size(), 2U);  // what is left is 1, 2, 1, 2, ...
}

TEST(PhaseFinder, NoticesTheEndOfTheLoop) {
  PhaseFinder finder;
  for (int round = 0; round < 5; ++round) feed(finder, {1, 2, 3});
  EXPECT_EQ(finder.entered(50).event, Event::broken);
  EXPECT_TRUE(finder.period().empty());
}

}  // namespace
}  // namespace terrace::runtime
