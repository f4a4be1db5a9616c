// Compares confidences with closed forms, for two objects of which one fits.
#include "strategy/confidence/confidence.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "model/uncertainty/sampling_error.hpp"

namespace terrace::strategy {
namespace {

using model::Problem;

// Two objects of a chunk each, hit by k and l of 1,000 time samples; fast memory holds one of them.
Problem two_objects(double k, double l, bool estimated = true) {
  Problem problem;
  problem.machine = "m";
  problem.loop = "loop";
  problem.places = {{"fast", "hbm", 0, Bytes{4096}, 16e9, 16e9, 100e-9},
                    {"slow", "ddr", 0, Bytes{1 << 20}, 16e9, 16e9, 300e-9}};
  problem.homes = {1};
  problem.fastest_first = {{0, 1}};
  problem.copy = {{0, 1e3}, {1e3, 0}};  // moving never pays
  model::ProblemPhase phase;
  phase.name = "p";
  phase.core = Seconds{(1000 - k - l) * 1e-6};
  phase.measured = Seconds{1};
  phase.samples = 1000;
  phase.samples_variance = estimated ? 1000 : 0;
  phase.samples_with_access = k + l;
  std::uint32_t item = 0;
  for (const double samples : {k, l}) {
    problem.objects.push_back({item == 0 ? "a" : "b", Bytes{4096}, 1});
    problem.items.push_back({Bytes{4096}, 0, item, 0, 1, k_no_place});
    problem.measured_at.push_back(1);
    phase.cells.push_back({item, 64, 0, samples * 1e-6 / 300e-9, samples, estimated ? samples : 0, 0});
    ++item;
  }
  problem.phases = {phase};
  return problem;
}

Confidence confidence(const Problem& problem, std::uint32_t draws, Plan* plan = nullptr) {
  const auto& planner = find_planner("auto");
  const auto chosen = planner.decide(problem, {}, Effort::thorough);
  const auto made = make_plan(problem, chosen, "auto");
  auto result = confidence_of(problem, {}, planner, chosen, made, draws);
  if (plan != nullptr) {
    *plan = made;
    annotate(*plan, result);
  }
  return result;
}

// Returns P(Gamma(k) < Gamma(l)): the probability of at least k heads in k + l - 1 coin tosses.
double swapped(int k, int l) {
  double sum = 0;
  for (int j = k; j < k + l; ++j)
    sum +=
        std::exp(std::lgamma(k + l) - std::lgamma(j + 1) - std::lgamma(k + l - j) - (k + l - 1) * std::log(2.0));
  return sum;
}

TEST(Regrets, RegretAbovePlanTimeLessBound_IsClampedToIt) {
  Confidence confidence;
  confidence.times = {10, 12, 8, 12};
  confidence.regrets = {0.5, 5, 2, 1};
  limit_regrets(confidence, Seconds{9});
  EXPECT_EQ(confidence.regrets, (std::vector<double>{0.5, 3, 0, 1}));
  limit_regrets(confidence, Seconds{0});  // no bound is known
  EXPECT_EQ(confidence.regrets, (std::vector<double>{0.5, 3, 0, 1}));
}

TEST(Confidence, TwoObjects_EqualsProbabilityOfTheirRanking) {
  constexpr std::uint32_t k_draws = 500;
  for (const auto& [k, l] : {std::pair{30, 20}, std::pair{60, 55}, std::pair{200, 150}}) {
    Plan plan;
    const auto found = confidence(two_objects(k, l), k_draws, &plan);
    ASSERT_EQ(plan.objects[0].parts.size(), 1u);
    const auto p = swapped(k, l);
    const auto error = 4 * std::sqrt(p * (1 - p) / k_draws);
    EXPECT_NEAR(*plan.objects[0].parts[0].confidence, 1 - p, error) << k << " " << l;
    // A draw in which the other object is worth more loses the difference of the two.
    double expected = 0;
    for (std::uint32_t d = 0; d < k_draws; ++d) {
      const auto drawn = model::SamplingError(two_objects(k, l)).draw(d);
      const auto& cells = drawn.phases[0].cells;
      expected += std::max(0.0, (cells[1].exposure - cells[0].exposure) * 200e-9) / k_draws;
    }
    EXPECT_NEAR(found.regret().value, expected, 1e-6 * expected + 1e-15);
    // If nearly all draws agree, the mean may be above the interval.
    EXPECT_EQ(plan.regret_low.value, 0);
    EXPECT_EQ(plan.regret_high.value > 0, p > 0.1);
  }
}

TEST(Confidence, ExactProfile_IsOneWithoutRegret) {
  Plan plan;
  const auto found = confidence(two_objects(30, 29, false), 50, &plan);
  EXPECT_EQ(plan.objects[0].parts.at(0).confidence, 1.0);
  EXPECT_EQ(plan.draws, 50u);
  EXPECT_EQ(found.regret().value, 0);
  EXPECT_EQ(found.regret_at(1).value, 0);
}

TEST(Confidence, MoreSamples_GrowsTowardsOne) {
  double before = 0;
  for (const double many : {1.0, 4.0, 16.0}) {
    Plan plan;
    confidence(two_objects(12 * many, 10 * many), 300, &plan);
    EXPECT_GT(*plan.objects[0].parts.at(0).confidence, before);
    before = *plan.objects[0].parts[0].confidence;
  }
}

TEST(Confidence, Quantile_OfFewDrawsLikeTheTruth_IsExceededAsOftenAsItSays) {
  constexpr int k_times = 20'000;
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const double share : {0.1, 0.5, 0.9}) {
    int held = 0;
    for (int i = 0; i < k_times; ++i) {
      Confidence confidence;
      for (int d = 0; d < 20; ++d) confidence.regrets.push_back(uniform(random));
      held += uniform(random) <= confidence.regret_at(share).value;
    }
    EXPECT_NEAR(held, share * k_times, 4 * std::sqrt(share * (1 - share) * k_times));
  }
}

TEST(Confidence, WrongChoice_RegretEqualsItsLoss) {
  const auto estimate = two_objects(30, 20), truth = two_objects(25, 28);
  const auto& planner = find_planner("auto");
  const auto chosen = planner.decide(estimate, {}, Effort::thorough);
  EXPECT_NEAR(regret_under(estimate, truth, {}, planner, chosen).seconds, 3 * 1e-6 * 2 / 3, 1e-12);
  EXPECT_EQ(regret_under(estimate, estimate, {}, planner, chosen).seconds, 0);
  auto other = truth;
  other.phases.push_back(other.phases[0]);
  EXPECT_ANY_THROW(regret_under(estimate, other, {}, planner, chosen));
}

}  // namespace
}  // namespace terrace::strategy
