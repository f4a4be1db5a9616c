// Tests the division of fast memory among ranks against a search of all divisions, and on cases whose answer is
// known.
#include "strategy/ranks/memory_division.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

namespace terrace::strategy {
namespace {

// Returns a curve of one phase that falls by `slopes[i]` with each further byte unit.
GainCurve falling(double time, const std::vector<double>& slopes, std::uint64_t unit = 4096) {
  GainCurve curve;
  curve.num_phases = 1;
  curve.num_steps = static_cast<std::uint32_t>(slopes.size());
  curve.time[0][0] = static_cast<float>(time);
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    curve.bytes[i + 1] = (i + 1) * unit;
    curve.time[i + 1][0] = curve.time[i][0] - static_cast<float>(slopes[i]);
  }
  return curve;
}

// Returns the job's time: the sum over the phases of the slowest rank's time.
double job_time(const std::vector<GainCurve>& ranks, const std::vector<std::uint64_t>& shares) {
  std::vector<double> slowest(ranks[0].num_phases);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    std::size_t step = 0;
    while (step < ranks[r].num_steps && ranks[r].bytes[step + 1] <= shares[r]) ++step;
    for (std::size_t p = 0; p < slowest.size(); ++p)
      slowest[p] = std::max(slowest[p], double{ranks[r].time[step][p]});
  }
  return std::accumulate(slowest.begin(), slowest.end(), 0.0);
}

// Returns the least job time of all divisions.
double best_time(const std::vector<GainCurve>& ranks, std::uint64_t budget) {
  double best = INFINITY;
  std::vector<std::uint64_t> shares(ranks.size());
  const std::function<void(std::size_t, std::uint64_t)> search = [&](std::size_t rank, std::uint64_t left) {
    if (rank == ranks.size()) {
      best = std::min(best, job_time(ranks, shares));
      return;
    }
    for (std::size_t step = 0; step <= ranks[rank].num_steps && ranks[rank].bytes[step] <= left; ++step) {
      shares[rank] = ranks[rank].bytes[step];
      search(rank + 1, left - shares[rank]);
    }
  };
  search(0, budget);
  return best;
}

std::uint64_t sum(const std::vector<std::uint64_t>& shares) {
  return std::accumulate(shares.begin(), shares.end(), std::uint64_t{0});
}

TEST(MemoryDivision, SlowestRank_GetsMemoryFirst) {
  // Rank 0 gains more per byte, but waits for rank 1.
  const std::vector<GainCurve> ranks{falling(1, {0.3, 0.3}), falling(2, {0.1, 0.1})};
  EXPECT_EQ(divide_memory(2 * 4096, ranks), (std::vector<std::uint64_t>{0, 8192}));
}

TEST(MemoryDivision, EqualRanks_GetEqualShares) {
  const std::vector<GainCurve> ranks(4, falling(1, std::vector<double>(8, 0.1)));
  EXPECT_EQ(divide_memory(8 * 4096, ranks), std::vector<std::uint64_t>(4, 8192));
}

TEST(MemoryDivision, MemoryThatNoRankGainsFrom_IsDividedEqually) {
  const std::vector<GainCurve> ranks{falling(1, {0.1}), falling(1, {0.1})};
  EXPECT_EQ(divide_memory(10 * 4096, ranks), (std::vector<std::uint64_t>{5 * 4096, 5 * 4096}));
}

TEST(MemoryDivision, GainThatBeginsLate_IsFound) {
  // The first bytes gain nothing without the last ones.
  const std::vector<GainCurve> ranks{falling(1, {0, 0, 0.5}), falling(0.2, {0.01, 0.01, 0.01})};
  EXPECT_EQ(divide_memory(3 * 4096, ranks), (std::vector<std::uint64_t>{3 * 4096, 0}));
}

TEST(MemoryDivision, DifferentPhases_WholeIterationsAreCompared) {
  auto one = falling(1, {0.4});
  auto other = falling(3, {0.4});
  other.phase_names = 7;
  EXPECT_EQ(divide_memory(4096, std::vector{one, other}), (std::vector<std::uint64_t>{0, 4096}));
}

TEST(MemoryDivision, NoRankOrNoSteps_DividesWithoutError) {
  EXPECT_TRUE(divide_memory(4096, {}).empty());
  EXPECT_EQ(divide_memory(8192, std::vector<GainCurve>(2)), (std::vector<std::uint64_t>{4096, 4096}));
}

// The slowest rank changes from phase to phase.
TEST(MemoryDivision, RandomRanks_AreNearlyAsFastAsTheBestDivision) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  double worst = 1, total = 0;
  constexpr int k_cases = 300;
  for (int i = 0; i < k_cases; ++i) {
    const std::size_t num_ranks = 2 + random() % 3;
    const auto phases = static_cast<std::uint32_t>(1 + random() % 3);
    std::vector<GainCurve> ranks(num_ranks);
    for (auto& rank : ranks) {
      rank.num_phases = phases;
      rank.num_steps = 5;
      std::vector<double> left(phases);
      for (auto& time : left) time = 1 + uniform(random);
      double slope = 0.2;
      for (std::size_t step = 0; step <= rank.num_steps; ++step) {
        rank.bytes[step] = step * 4096;
        for (std::uint32_t p = 0; p < phases; ++p) {
          rank.time[step][p] = static_cast<float>(left[p]);
          left[p] -= slope * uniform(random) * left[p];
        }
        slope *= 0.8;
      }
    }
    const auto budget = (random() % (5 * num_ranks) + 1) * 4096;
    const auto shares = divide_memory(budget, ranks);
    ASSERT_LE(sum(shares), budget);
    const auto ratio = job_time(ranks, shares) / best_time(ranks, budget);
    worst = std::max(worst, ratio);
    total += ratio;
  }
  EXPECT_LE(worst, 1.1);
  EXPECT_LE(total / k_cases, 1.02);
}

}  // namespace
}  // namespace terrace::strategy
