// Tests trials of plans, for iterations of given times before a plan and under it.
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

// The variation of one iteration is unknown: 5 % are assumed.
TEST(PlanTrial, OneIterationEach_SlowerThanAssumedVariation_IsBehindByTheDifference) {
  auto trial = after_iterations({2});
  trial.adopt({0});
  trial.on_moves_done();
  EXPECT_NEAR(trial.add_under_plan(Seconds{2.11}).value, 0.11, 1e-12);
}

TEST(PlanTrial, OneIterationEach_SlowerWithinAssumedVariation_IsNotBehind) {
  auto trial = after_iterations({2});
  trial.adopt({0});
  trial.on_moves_done();
  EXPECT_EQ(trial.add_under_plan(Seconds{2.09}).value, 0);
  EXPECT_TRUE(trial.is_on_trial());
}

// A program with exactly equal iterations proves any loss with its second iteration under the plan.
TEST(PlanTrial, IterationsWithoutVariation_SmallLoss_IsProvedByTheSecond) {
  auto trial = after_iterations({2});
  trial.adopt({0});
  trial.on_moves_done();
  EXPECT_EQ(trial.add_under_plan(Seconds{2.01}).value, 0);
  EXPECT_NEAR(trial.add_under_plan(Seconds{2.01}).value, 0.01, 1e-12);
}

// Means 10 and 12, deviations of 1 on both sides: t = 2 / sqrt(2 * 2 / 3) for four iterations each, and the 95 %
// quantile of six degrees of freedom is 1.943; with eight each it is t = 2 / sqrt(8 / 7 / 4) = 3.74.
TEST(PlanTrial, IterationsVary_LossIsProvedOnceThereAreEnough) {
  auto trial = after_iterations({9, 11, 9, 11});
  trial.adopt({0});
  trial.on_moves_done();
  const auto under = [&](double time) { return trial.add_under_plan(Seconds{time}).value; };
  EXPECT_EQ(under(11), 0);
  EXPECT_EQ(under(13), 0) << "t = 2 / sqrt(6 / 4 * 3 / 4) = 1.89, wanted 2.132";
  EXPECT_EQ(under(11), 0) << "three are not compared";
  EXPECT_NEAR(under(13), 2, 1e-12) << "t = 2 / sqrt(8 / 6 / 2) = 2.45, wanted 1.943";
}

// The loss is a fifth of the standard deviation, and four baseline iterations are too few to prove it.
TEST(PlanTrial, IterationsVary_LossFarBelowTheVariation_StaysUnproved) {
  auto trial = after_iterations({9, 11, 9, 11});
  trial.adopt({0});
  trial.on_moves_done();
  for (int i = 0; i < 64; ++i) EXPECT_EQ(trial.add_under_plan(Seconds{i % 2 == 0 ? 9.2 : 11.2}).value, 0) << i;
}

TEST(PlanTrial, OneIteration_TakesLess_IsNotBehind) {
  auto trial = after_iterations({2});
  trial.adopt({0});
  trial.on_moves_done();
  EXPECT_EQ(trial.add_under_plan(Seconds{1}).value, 0);
  EXPECT_TRUE(trial.is_on_trial());
}

TEST(PlanTrial, MovesUnderWay_DoNotCount) {
  auto trial = after_iterations({2});
  trial.adopt({0});
  EXPECT_EQ(trial.add_under_plan(Seconds{9}).value, 0);
  trial.on_moves_done();
  EXPECT_DOUBLE_EQ(trial.add_under_plan(Seconds{5}).value, 3) << "the iteration before the arrival is not in it";
}

// Iterations of 1 and 3 alternate, whatever the placement: over an even number of them there is no gain or loss.
TEST(PlanTrial, AlternatingIterations_AreNeverBehind) {
  auto trial = after_iterations({1, 3, 1, 3});
  trial.adopt({0});
  trial.on_moves_done();
  EXPECT_EQ(trial.add_under_plan(Seconds{3}).value, 0) << "3 after 1 and 3";
  EXPECT_EQ(trial.add_under_plan(Seconds{1}).value, 0) << "3 + 1 after 1 + 3";
  for (int i = 0; i < 62; ++i) EXPECT_EQ(trial.add_under_plan(Seconds{i % 2 == 0 ? 3.0 : 1.0}).value, 0) << i;
  EXPECT_FALSE(trial.is_on_trial());
}

TEST(PlanTrial, BetterPlanWhileOnTrial_KeepsThePlacesBeforeTheFirst) {
  auto trial = after_iterations({2});
  trial.adopt({0, 1});
  trial.adopt({1, 0});
  EXPECT_EQ(trial.places_before(), (std::vector<PlaceId>{0, 1}));
  trial.end();
  trial.adopt({1, 0});
  EXPECT_EQ(trial.places_before(), (std::vector<PlaceId>{1, 0}));
}

TEST(PlanTrial, NoIterationBefore_IsNotOnTrial) {
  auto trial = after_iterations({});
  trial.adopt({0});
  trial.on_moves_done();
  EXPECT_FALSE(trial.is_on_trial());
  EXPECT_EQ(trial.add_under_plan(Seconds{9}).value, 0);
}

TEST(PlanTrial, Gained_SteadyIterations_IsWhatWasMeasured) {
  auto trial = after_iterations({2, 2});
  trial.adopt({0});
  trial.begin_step({Seconds{4}, Seconds{1}});
  EXPECT_DOUBLE_EQ(trial.gained().value, -4) << "the step costs what it costs";
  static_cast<void>(trial.add_under_plan(Seconds{6}));
  trial.on_moves_done();
  static_cast<void>(trial.add_under_plan(Seconds{1.75}));
  EXPECT_DOUBLE_EQ(trial.gained().value, -3.75) << "a quarter of what was predicted";
  trial.adopt({1});
  EXPECT_DOUBLE_EQ(trial.gained().value, -3.75) << "a better plan does not clear the account";
}

// Iterations of 1 and 3: the variance is 2, that of two iterations less twice the mean of two is 2 * (4 / 2 + 2) =
// 8, and that of a predicted gain of 8 is 16. Measured is a gain of 2 and the cost, 5.
TEST(PlanTrial, Gained_VaryingIterations_IsBetweenMeasuredAndPredicted) {
  auto trial = after_iterations({1, 3});
  trial.adopt({0});
  trial.begin_step({Seconds{3}, Seconds{4}});
  trial.on_moves_done();
  static_cast<void>(trial.add_under_plan(Seconds{1}));
  static_cast<void>(trial.add_under_plan(Seconds{1}));
  EXPECT_NEAR(trial.gained().value, (16 * 5.0 + 8 * 8.0) / 24 - 3, 1e-12);
}

// The variation is unknown: 5 % of an iteration of 2 are assumed, so that the variance is 0.1^2 * (1 + 1).
TEST(PlanTrial, Gained_OneIterationBefore_AssumesItsVariation) {
  auto trial = after_iterations({2});
  trial.adopt({0});
  trial.begin_step({Seconds{0}, Seconds{0.2}});
  trial.on_moves_done();
  static_cast<void>(trial.add_under_plan(Seconds{2}));
  EXPECT_NEAR(trial.gained().value, 0.02 * 0.2 / (0.02 + 0.01), 1e-12);
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
  trial.on_moves_done();
  for (int i = 0; i < 64; ++i) EXPECT_EQ(trial.add_under_plan(Seconds{1}).value, 0);
  EXPECT_FALSE(trial.is_on_trial());
  EXPECT_EQ(trial.add_under_plan(Seconds{9}).value, 0);
}

}  // namespace
}  // namespace terrace::strategy
