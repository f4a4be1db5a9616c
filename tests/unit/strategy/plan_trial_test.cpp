// Plans of found loops that are tried: iterations of known length before a plan and under it.
#include "strategy/learning/plan_trial.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace terrace::strategy {
namespace {

PlanTrial after_iterations(const std::vector<double>& times) {
  PlanTrial trial;
  for (const auto time : times) trial.add_before(Seconds{time});
  return trial;
}

TEST(PlanTrial, OneIteration_TakesLonger_IsBehindByTheDifference) {
  auto trial = after_iterations({2});
  trial.adopt({0});
  trial.arrive();
  EXPECT_DOUBLE_EQ(trial.add_under_plan(Seconds{3}).value, 1);
}

TEST(PlanTrial, OneIteration_TakesLess_IsNotBehind) {
  auto trial = after_iterations({2});
  trial.adopt({0});
  trial.arrive();
  EXPECT_EQ(trial.add_under_plan(Seconds{1}).value, 0);
  EXPECT_TRUE(trial.is_on_trial());
}

TEST(PlanTrial, MovesUnderWay_DoNotCount) {
  auto trial = after_iterations({2});
  trial.adopt({0});
  EXPECT_EQ(trial.add_under_plan(Seconds{9}).value, 0);
  trial.arrive();
  EXPECT_DOUBLE_EQ(trial.add_under_plan(Seconds{5}).value, 3) << "the iteration before the arrival is not in it";
}

// Iterations of 1 and 3 alternate, whatever the placement: over an even number of them nothing is won or lost.
TEST(PlanTrial, AlternatingIterations_AreComparedWithAsManyBefore) {
  auto trial = after_iterations({1, 3, 1, 3});
  trial.adopt({0});
  trial.arrive();
  EXPECT_EQ(trial.add_under_plan(Seconds{1}).value, 0) << "1 after 3";
  EXPECT_EQ(trial.add_under_plan(Seconds{3}).value, 0) << "1 + 3 after 1 + 3";
  EXPECT_EQ(trial.add_under_plan(Seconds{9}).value, 0) << "three are not compared";
  EXPECT_DOUBLE_EQ(trial.add_under_plan(Seconds{3}).value, 2) << "16 after 8, in four";
}

TEST(PlanTrial, BetterPlanWhileOnTrial_KeepsThePlacesBeforeTheFirst) {
  auto trial = after_iterations({2});
  trial.adopt({0, 1});
  trial.adopt({1, 0});
  EXPECT_EQ(trial.places_before(), (std::vector<PlaceId>{0, 1}));
  trial.settle();
  trial.adopt({1, 0});
  EXPECT_EQ(trial.places_before(), (std::vector<PlaceId>{1, 0}));
}

TEST(PlanTrial, NoIterationBefore_IsNotOnTrial) {
  auto trial = after_iterations({});
  trial.adopt({0});
  trial.arrive();
  EXPECT_FALSE(trial.is_on_trial());
  EXPECT_EQ(trial.add_under_plan(Seconds{9}).value, 0);
}

TEST(PlanTrial, Gained_CountsFromAdoption_MovesAndAll) {
  auto trial = after_iterations({1, 3});
  trial.adopt({0});
  static_cast<void>(trial.add_under_plan(Seconds{5}));
  EXPECT_DOUBLE_EQ(trial.gained().value, -3) << "an iteration took 2 on average";
  trial.arrive();
  static_cast<void>(trial.add_under_plan(Seconds{0.5}));
  EXPECT_DOUBLE_EQ(trial.gained().value, -1.5);
  trial.adopt({1});
  EXPECT_DOUBLE_EQ(trial.gained().value, -1.5) << "a better plan does not clear the account";
}

TEST(PlanTrial, ManyIterationsBefore_TheNewestCount) {
  std::vector<double> times(36, 9);
  times.resize(100, 1);
  auto trial = after_iterations(times);
  trial.adopt({0});
  static_cast<void>(trial.add_under_plan(Seconds{1}));
  EXPECT_DOUBLE_EQ(trial.gained().value, 0) << "the 64 before took 1";
}

TEST(PlanTrial, ManyIterations_SettleThePlan) {
  auto trial = after_iterations({2});
  trial.adopt({0});
  trial.arrive();
  for (int i = 0; i < 64; ++i) EXPECT_EQ(trial.add_under_plan(Seconds{1}).value, 0);
  EXPECT_FALSE(trial.is_on_trial());
  EXPECT_EQ(trial.add_under_plan(Seconds{9}).value, 0);
}

}  // namespace
}  // namespace terrace::strategy
