// Tests of the lower bound against executable schedules.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "model/lower_bound.hpp"
#include "model/moves.hpp"
#include "random_problem.hpp"

namespace terrace::model {
namespace {

using testing::random_problem;
using testing::random_schedule;
using testing::Shape;

std::vector<Shape> shapes() {
  return {{.kinds = 2, .objects = 5, .phases = 4},
          {.kinds = 3, .domains = 2, .objects = 8, .phases = 3},
          {.kinds = 4, .objects = 6, .phases = 5, .touched = 0.3},
          {.kinds = 2, .objects = 10, .phases = 12, .most_chunks = 4, .touched = 0.2, .fast_share = 0.25},
          {.kinds = 2, .objects = 4, .phases = 1},
          {.kinds = 2, .objects = 8, .phases = 6, .priced = true},
          {.kinds = 3, .objects = 6, .phases = 4, .touched = 0.3, .priced = true}};
}

// 100 problems with 100 random executable schedules each, against the highest bound of the ascent.
TEST(LowerBound, RandomProblems_BoundIsNotAboveExecutableSchedules) {
  std::mt19937 random(1);
  int schedules = 0;
  for (int n = 0; schedules < 10'000; ++n) {
    const auto problem = random_problem(random, shapes()[n % shapes().size()]);
    const auto home = predict(problem, uniform_schedule(problem, problem.homes)).total.value;
    const auto bound = lower_bound(problem, home);
    ASSERT_LE(bound.seconds, home * (1 + 1e-12));
    for (int s = 0; s < 100; ++s) {
      const auto schedule = random_schedule(random, problem, 0.05 * (1 + s % 10));
      const auto list = derive_moves(problem, schedule);
      if (!list.feasible) continue;
      ASSERT_LE(bound.seconds, predict(ProblemIndex(problem), schedule, list).total.value * (1 + 1e-12))
          << "problem " << n;
      ++schedules;
    }
  }
}

// The bound charges the fixed costs of moves, also where they are so high that no move pays.
TEST(LowerBound, PricedMoves_AreCharged) {
  std::mt19937 random(7);
  int dearer = 0, still = 0;
  for (int n = 0; n < 40; ++n) {
    auto problem =
        random_problem(random, {.kinds = 2, .objects = 8, .phases = 8, .touched = 0.4, .fast_share = 0.25});
    const auto home = predict(problem, uniform_schedule(problem, problem.homes)).total.value;
    const auto bytes_alone = lower_bound(problem, home).seconds;
    for (auto& item : problem.items) item.remapping = home;
    const auto busy = lower_bound(problem, home);
    for (auto& item : problem.items) std::swap(item.remapping, item.stall);
    const auto stalled = lower_bound(problem, home);
    if (busy.seconds > bytes_alone * (1 + 1e-6)) ++dearer;
    if (std::abs(busy.seconds - stalled.seconds) < 0.05 * home) ++still;
  }
  EXPECT_GT(dearer, 20) << "moves that take forever gain nothing";
  EXPECT_GT(still, 30) << "whoever pays, the placement stays the same";
}

// Any prices give a valid lower bound.
TEST(LowerBound, ArbitraryPrices_BoundHolds) {
  std::mt19937 random(2);
  for (int n = 0; n < 200; ++n) {
    auto problem = random_problem(random, shapes()[n % shapes().size()]);
    problem.cyclic = n % 2 == 0;
    Relaxation relaxation(problem);
    Multipliers prices;
    for (std::size_t k = 0; k < problem.phases.size(); ++k) {
      std::vector<double> row(relaxation.rows());
      double sum = 0;
      for (auto& price : row) sum += price = std::pow(testing::uniform(random, 0, 1), 4);
      for (const auto price : row) prices.row.push_back(price / sum);
      for (std::size_t p = 0; p < problem.places.size(); ++p) {
        prices.capacity.push_back(relaxation.bounded(p) ? testing::uniform(random, 0, 1e-9) : 0);
      }
    }
    Activity activity;
    const auto bound = relaxation.evaluate(prices, activity);
    for (int s = 0; s < 10; ++s) {
      const auto schedule = random_schedule(random, problem);
      const auto list = derive_moves(problem, schedule);
      if (!list.feasible) continue;
      ASSERT_LE(bound, predict(ProblemIndex(problem), schedule, list).total.value * (1 + 1e-12));
    }
  }
}

// If everything fits, the best schedule splits each phase's traffic over the rows; no schedule is below the bound,
// and with a single place the bound equals the time.
TEST(LowerBound, NoPlacementChoice_EqualsTime) {
  std::mt19937 random(3);
  for (int n = 0; n < 50; ++n) {
    auto problem = random_problem(random, {.kinds = 1, .objects = 4, .phases = 6});
    const auto time = predict(problem, uniform_schedule(problem, problem.homes)).total.value;
    EXPECT_NEAR(lower_bound(problem, time).seconds, time, 1e-9 * time);
    problem = random_problem(random, {.kinds = 2, .objects = 4, .phases = 6});
    for (std::size_t i = 0; i < problem.items.size(); ++i) problem.items[i].pinned = problem.homes[0];
    const auto pinned = predict(problem, uniform_schedule(problem, problem.homes)).total.value;
    EXPECT_NEAR(lower_bound(problem, pinned).seconds, pinned, 1e-9 * pinned);
  }
}

// A single iteration has free placements at both ends: its bound is not above the cyclic one.
// With little or no fast capacity the bound is about that at a capacity price that no item pays.
TEST(LowerBound, LittleFastCapacity_AscentConverges) {
  std::mt19937 random(6);
  for (const std::uint64_t room : {0, 1024, 16384}) {
    for (int n = 0; n < 50; ++n) {
      auto problem = random_problem(random, {.kinds = 2, .objects = 8, .phases = 3});
      for (auto& place : problem.places)
        if (place.budget < problem.places[problem.homes.front()].budget) place.budget = Bytes{room};
      const auto home = predict(problem, uniform_schedule(problem, problem.homes)).total.value;
      auto prices = prices_at_home(problem);
      for (std::size_t i = 0; i < prices.capacity.size(); ++i) prices.capacity[i] = 2 * home / (1 << 20);
      EXPECT_GE(lower_bound(problem, home).seconds, 0.98 * bound_at(problem, prices)) << room << " " << n;
    }
  }
}

TEST(LowerBound, AcyclicProblem_BoundIsNotHigher) {
  std::mt19937 random(4);
  for (int n = 0; n < 50; ++n) {
    auto problem = random_problem(random, shapes()[0]);
    const auto home = predict(problem, uniform_schedule(problem, problem.homes)).total.value;
    auto bound = lower_bound(problem, home);
    problem.cyclic = false;
    Activity activity;
    Relaxation relaxation(problem);
    EXPECT_LE(relaxation.evaluate(bound.prices, activity), bound.seconds * (1 + 1e-12));
  }
}

// Unexplained time depends on the placement in an unknown way: an exact problem's bound excludes it, a sampled
// one's keeps the constant, as its predictions do.
TEST(LowerBound, ExactProblem_ExcludesUnexplainedTime) {
  std::mt19937 random(5);
  auto problem = random_problem(random, shapes()[0]);
  const auto home = predict(problem, uniform_schedule(problem, problem.homes)).total.value;
  const auto plain = lower_bound(problem, home, {.passes = 1}).seconds;
  for (auto& phase : problem.phases) phase.unexplained = Seconds{0.5};
  EXPECT_NEAR(lower_bound(problem, home, {.passes = 1}).seconds, plain + 0.5 * 4, 1e-9);
  problem.exact = true;
  EXPECT_NEAR(lower_bound(problem, home, {.passes = 1}).seconds, plain, 1e-12);
}

}  // namespace
}  // namespace terrace::model
