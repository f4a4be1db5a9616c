// Tests of the bound of a whole loop against all placements of small instances, and against the unrolled loop.
#include "model/uncertainty/loop_bound.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "model/uncertainty/sampling_error.hpp"
#include "random_problem.hpp"

namespace terrace::model {
namespace {

using testing::random_problem;
using testing::Shape;

constexpr Shape k_small = {.kinds = 2, .objects = 5, .phases = 4, .most_chunks = 2};

// Returns the seconds of the best constant placement; enumerates all within the budgets.
double best_static(const Problem& problem) {
  double best = INFINITY;
  for (std::uint32_t chosen = 0; chosen < 1u << problem.items.size(); ++chosen) {
    Placement placement;
    for (std::size_t i = 0; i < problem.items.size(); ++i) {
      const auto place = static_cast<PlaceId>(chosen >> i & 1);
      placement.push_back(problem.items[i].pinned != k_no_place ? problem.items[i].pinned : place);
    }
    Schedule schedule;
    schedule.phases.assign(problem.phases.size(), placement);
    if (within_budget(problem, schedule)) best = std::min(best, predict(problem, schedule).total.value);
  }
  return best;
}

TEST(LoopBound, EveryPlacementOfSmallInstances_IsNotBelowIt) {
  std::mt19937 random(1);
  int tight = 0;
  for (int n = 0; n < 60; ++n) {
    auto problem = random_problem(random, k_small);
    problem.exact = true;
    if (problem.items.size() > 12) continue;
    const auto best = best_static(problem);
    const auto prices = lower_bound(problem, best, {.passes = 200}).prices;
    const std::vector<double> all(problem.phases.size(), 1), half(problem.phases.size(), 0.5);
    for (const auto iterations : {1u, 2u, 7u, 1000u}) {
      const auto bound = loop_bound(problem, all, all, iterations, prices).seconds;
      ASSERT_LE(bound, best * (1 + 1e-9)) << n << ", " << iterations;
      ASSERT_LE(loop_bound(problem, half, half, iterations, prices).seconds, best / 2 * (1 + 1e-9));
      tight += iterations == 1000 && bound > 0.9 * best;
    }
  }
  EXPECT_GT(tight, 10);  // chunks are indivisible: some instances leave a gap
}

TEST(Relaxation, RepeatedIterations_EqualTheSequenceWrittenOut) {
  std::mt19937 random(2);
  for (std::size_t n = 0; n < 30; ++n) {
    const auto problem = random_problem(
        random, {.kinds = 2 + n % 3, .domains = 1 + n % 2, .objects = 6, .phases = 3, .priced = n % 5 == 0});
    const auto prices = make_feasible(problem, lower_bound(problem, 1, {.passes = 20}).prices);
    for (const std::size_t times : {1u, 2u, 5u}) {
      Multipliers repeated;
      for (std::size_t i = 0; i < times; ++i) {
        repeated.row.insert(repeated.row.end(), prices.row.begin(), prices.row.end());
        repeated.capacity.insert(repeated.capacity.end(), prices.capacity.begin(), prices.capacity.end());
      }
      const auto written_out = bound_at(concatenate_iterations(std::vector<Problem>(times, problem)), repeated);
      EXPECT_NEAR(Relaxation(problem).evaluate_repeated(prices, times), written_out, 1e-9 * std::abs(written_out));
    }
  }
}

// Random feasible prices.
Multipliers any_prices(const Problem& problem, std::mt19937& random) {
  std::uniform_real_distribution<double> share(-0.5, 1);
  Multipliers prices;
  prices.row.resize(problem.phases.size() * (problem.places.size() + 2));
  prices.capacity.resize(problem.phases.size() * problem.places.size());
  for (auto& price : prices.row) price = share(random);
  for (auto& price : prices.capacity) price = share(random) * 1e-9;
  return make_feasible(problem, prices);
}

// Returns the value of an activity at prices.
double priced(const Problem& problem, const Multipliers& prices, const Activity& activity) {
  double sum = 0;
  for (const auto& phase : problem.phases) sum += problem.exact ? 0 : phase.unexplained.value;
  for (std::size_t i = 0; i < prices.row.size(); ++i) sum += prices.row[i] * activity.row[i];
  for (std::size_t i = 0; i < prices.capacity.size(); ++i) {
    const auto budget = static_cast<double>(problem.places[i % problem.places.size()].budget.value);
    sum += prices.capacity[i] * (activity.capacity[i] - budget);
  }
  return sum;
}

// Weak duality: the value at any prices is that of the activity there, and no other activity is cheaper.
TEST(Relaxation, Activity_AnyPrices_IsASupergradientOfTheValue) {
  std::mt19937 random(4);
  for (std::size_t n = 0; n < 200; ++n) {
    auto problem = random_problem(
        random, {.kinds = 2 + n % 2, .domains = 1 + n % 2, .objects = 7, .phases = 5, .priced = n % 3 == 0});
    problem.cyclic = n % 4 < 2;
    for (std::size_t i = 0; i < problem.items.size(); i += 3)
      if (n % 5 == 0) problem.items[i].pinned = home_of(problem, problem.items[i].domain);
    Relaxation relaxation(problem);
    const auto here = any_prices(problem, random), there = any_prices(problem, random);
    Activity activity, other;
    const auto value = relaxation.evaluate(here, activity), value_there = relaxation.evaluate(there, other);
    EXPECT_NEAR(priced(problem, here, activity), value, 1e-9 * std::abs(value)) << n;
    EXPECT_NEAR(priced(problem, there, other), value_there, 1e-9 * std::abs(value_there)) << n;
    EXPECT_LE(value_there, priced(problem, there, activity) + 1e-9 * std::abs(value_there)) << n;
    EXPECT_LE(value, priced(problem, here, other) + 1e-9 * std::abs(value)) << n;
  }
}

// Two objects in two phases, as sampled by a collector that counts stalls.
Problem sampled_problem(double samples) {
  std::mt19937 random(3);
  auto problem = random_problem(random, k_small);
  problem.exact = false;
  problem.counted = true;
  for (auto& phase : problem.phases) {
    phase.samples = phase.samples_variance = phase.samples_with_access = 0;
    for (auto& cell : phase.cells) {
      cell.samples = cell.samples_variance = samples;
      cell.bytes_variance = (cell.read_bytes + cell.write_bytes) * 64;
      phase.samples_with_access += samples;
    }
    phase.samples = phase.samples_variance = 2 * phase.samples_with_access;
  }
  return problem;
}

TEST(SamplingError, CountedStalls_KeepTheirTotalAndTheCoresTime) {
  const auto problem = sampled_problem(5);
  const SamplingError error(problem);
  for (std::uint64_t d = 0; d < 20; ++d) {
    const auto drawn = error.draw(d);
    for (std::size_t k = 0; k < problem.phases.size(); ++k) {
      const auto& phase = drawn.phases[k];
      double samples = 0;
      for (const auto& cell : phase.cells) samples += cell.samples;
      const auto scale = problem.phases[k].latency_scale;
      EXPECT_NEAR(samples, problem.phases[k].samples_with_access, 1e-9 * samples);
      EXPECT_NEAR(phase.core.value / phase.latency_scale, problem.phases[k].core.value / scale,
                  1e-9 * problem.phases[k].core.value);
    }
  }
}

TEST(SamplingError, FractionsOfASample_DrawFiniteCells) {
  const auto problem = sampled_problem(1e-4);
  const SamplingError error(problem);
  for (std::uint64_t d = 0; d < 200; ++d)
    for (const auto& phase : error.draw(d).phases)
      for (const auto& cell : phase.cells)
        ASSERT_TRUE(std::isfinite(cell.samples + cell.exposure + cell.read_bytes + cell.write_bytes)) << d;
}

TEST(LoopBound, UnattributedStalls_AreNoCoreTime) {
  auto problem = sampled_problem(5);
  problem.places.back().latency = 4 * problem.places.front().latency;
  auto& phase = problem.phases.front();
  const auto placed = predict(problem, uniform_schedule(problem, problem.homes)).total.value;
  const auto prices = lower_bound(problem, placed).prices;
  const std::vector<double> all(problem.phases.size(), 1);
  const auto core = loop_bound(problem, all, all, 1, prices).core;
  phase.samples_with_access = phase.samples;  // the core only stalled, on chunks without samples
  const auto less = loop_bound(problem, all, all, 1, prices).core;
  EXPECT_LT(less, core);
}

}  // namespace
}  // namespace terrace::model
