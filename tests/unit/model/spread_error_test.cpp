// Tests of draws of prefetched lines' attribution against the stated distribution.
#include "model/uncertainty/spread_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace terrace::model {
namespace {

constexpr int k_draws = 4000;

// Returns a phase in which objects of one chunk each, in slow memory, have these prefetched bytes.
Problem streams(const std::vector<double>& bytes, std::size_t phases = 1) {
  Problem problem;
  problem.places = {{"fast", "hbm", 0, Bytes{4096}, 16e9, 16e9, 100e-9},
                    {"slow", "ddr", 0, Bytes{1 << 20}, 16e9, 16e9, 300e-9}};
  problem.homes = {1};
  problem.fastest_first = {{0, 1}};
  problem.copy = {{0, 1e3}, {1e3, 0}};
  problem.held = false;
  ProblemPhase phase;
  phase.core = Seconds{1e-3};
  phase.measured = Seconds{1};
  for (std::uint32_t o = 0; o < bytes.size(); ++o) {
    problem.objects.push_back({std::to_string(o), Bytes{4096}, 1});
    problem.items.push_back({Bytes{4096}, 0, o, 0, 1, k_no_place});
    problem.measured_at.push_back(1);
    // Another 640 bytes and 10 latencies by demand misses.
    phase.cells.push_back(
        {o, bytes[o] + 640, 64, bytes[o] / 64 + 10, bytes[o] / 640 + 1, 0, 0, bytes[o], bytes[o] / 64});
  }
  problem.phases.assign(phases, phase);
  return problem;
}

std::vector<double> drawn_shares(const Problem& problem, std::uint64_t number, std::size_t phase = 0) {
  auto drawn = problem;
  redraw_spread(drawn, number);
  double sum = 0;
  std::vector<double> shares;
  for (const auto& cell : problem.phases[phase].cells) sum += cell.streamed_bytes;
  for (const auto& cell : drawn.phases[phase].cells) shares.push_back(cell.streamed_bytes / sum);
  return shares;
}

// Distribution function of the beta distribution by Simpson's rule. The substitutions t = u^(1/a) and 1 - t =
// v^(1/b) take the poles out of the two halves.
double beta_distribution(double a, double b, double x) {
  const auto half = [](double power, double other, double end) {
    constexpr int k_steps = 2000;
    const auto limit = std::pow(end, power), width = limit / k_steps;
    double sum = 0;
    for (int i = 0; i <= k_steps; ++i) {
      const auto weight = i == 0 || i == k_steps ? 1 : i % 2 != 0 ? 4 : 2;
      sum += weight * std::pow(1 - std::pow(i * width, 1 / power), other - 1);
    }
    return sum * width / 3 / power;
  };
  const auto whole = std::tgamma(a) * std::tgamma(b) / std::tgamma(a + b);
  return x <= 0.5 ? half(a, b, x) / whole : 1 - half(b, a, 1 - x) / whole;
}

// A Dirichlet distribution of concentration 1, whose means are 0.7 of the collector's shares (0.4, 0.2, 0.4) and
// 0.3 spread over the three objects and memory that was not observed: 0.355, 0.215, 0.355 and 0.075.
TEST(SpreadError, Draws_ManyOfThem_AreOfTheStatedDirichletDistribution) {
  const auto problem = streams({6400, 3200, 6400});
  const std::vector<double> means = {0.355, 0.215, 0.355};
  std::vector<std::vector<double>> shares(means.size());
  double products = 0;
  for (int d = 0; d < k_draws; ++d) {
    const auto drawn = drawn_shares(problem, static_cast<std::uint64_t>(d));
    for (std::size_t o = 0; o < means.size(); ++o) shares[o].push_back(drawn[o]);
    products += (drawn[0] - means[0]) * (drawn[1] - means[1]) / k_draws;
  }
  // The marginals are beta distributions: Kolmogorov's test, one in a thousand.
  for (std::size_t o = 0; o < means.size(); ++o) {
    auto& of = shares[o];
    std::sort(of.begin(), of.end());
    double farthest = 0;
    for (int d = 0; d < k_draws; d += 10) {
      const auto stated = beta_distribution(means[o], 1 - means[o], of[static_cast<std::size_t>(d)]);
      farthest = std::max(farthest, std::abs(stated - (d + 0.5) / k_draws));
    }
    EXPECT_LT(farthest, 1.95 / std::sqrt(k_draws)) << o;
  }
  // Lines are shared out, so the covariance of two objects is -0.355 x 0.215 / 2.
  EXPECT_NEAR(products, -0.355 * 0.215 / 2, 0.005);
}

// The case that the model is for: the collector says that each of three objects has a third of the lines, and in
// truth one has nearly all or nearly none of them.
TEST(SpreadError, Draws_OneObjectHasAllOrNoLines_90PercentIntervalCoversBoth) {
  const auto problem = streams({6400, 6400, 6400});
  std::vector<double> shares;
  for (int d = 0; d < k_draws; ++d) shares.push_back(drawn_shares(problem, static_cast<std::uint64_t>(d))[1]);
  std::sort(shares.begin(), shares.end());
  EXPECT_LT(shares[k_draws / 20], 0.02);
  EXPECT_GT(shares[k_draws - k_draws / 20], 0.9);
  // Half of the draws lie in between: the collector's share is informative.
  EXPECT_GT(shares[3 * k_draws / 4] - shares[k_draws / 4], 0.3);
  EXPECT_LT(shares[3 * k_draws / 4] - shares[k_draws / 4], 0.7);
}

TEST(SpreadError, Draw_OfAPhase_KeepsWhatDemandMissesAreAndTheSumOfLines) {
  const auto problem = streams({6400, 3200, 6400});
  for (std::uint64_t d = 0; d < 50; ++d) {
    auto drawn = problem;
    redraw_spread(drawn, d);
    const auto shares = drawn_shares(problem, d);
    EXPECT_LE(std::accumulate(shares.begin(), shares.end(), 0.0), 1 + 1e-12);
    for (const auto& cell : drawn.phases[0].cells) {
      EXPECT_NEAR(cell.read_bytes - cell.streamed_bytes, 640, 1e-8);
      EXPECT_NEAR(cell.exposure - cell.streamed_exposure, 10, 1e-8);
      EXPECT_EQ(cell.write_bytes, 64);
    }
  }
}

TEST(SpreadError, Draw_OfSeveralPhases_GivesAnObjectTheSameShareInAll) {
  const auto problem = streams({6400, 3200}, 2);
  for (std::uint64_t d = 0; d < 20; ++d) EXPECT_EQ(drawn_shares(problem, d, 0), drawn_shares(problem, d, 1));
  EXPECT_NE(drawn_shares(problem, 0), drawn_shares(problem, 1));
}

TEST(SpreadError, Draw_WithoutPrefetchedLinesOrFromExactCounters_ChangesNothing) {
  auto none = streams({0, 0});
  EXPECT_FALSE(has_spread(none));
  auto exact = streams({6400, 3200});
  EXPECT_TRUE(has_spread(exact));
  exact.exact = true;
  EXPECT_FALSE(has_spread(exact));
  redraw_spread(exact, 1);
  EXPECT_EQ(exact.phases[0].cells[0].streamed_bytes, 6400);
}

TEST(SpreadError, Draw_OfATinyShare_StaysFinite) {
  for (std::uint64_t d = 0; d < 50; ++d) {
    auto problem = streams({6400, 1e-300});
    redraw_spread(problem, d);
    for (const auto& cell : problem.phases[0].cells) {
      EXPECT_TRUE(std::isfinite(cell.read_bytes) && std::isfinite(cell.exposure) && std::isfinite(cell.samples));
    }
  }
}

}  // namespace
}  // namespace terrace::model
