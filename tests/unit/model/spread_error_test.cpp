// Draws of the spread of prefetched lines against the distribution that they are said to have.
#include "model/uncertainty/spread_error.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace terrace::model {
namespace {

constexpr int k_draws = 4000;

// A phase in which objects have these prefetched bytes, all in slow memory, one chunk each.
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

TEST(SpreadError, Draws_ManyOfThem_HaveMomentsOfTheDirichletDistribution) {
  const auto problem = streams({6400, 3200, 6400});
  for (const std::uint32_t object : {0u, 1u}) {
    double sum = 0, squares = 0;
    for (int d = 0; d < k_draws; ++d) {
      const auto share = drawn_shares(problem, static_cast<std::uint64_t>(d))[object];
      sum += share;
      squares += share * share;
    }
    const auto expected = (1 - k_evened) * (object == 0 ? 0.4 : 0.2) + k_evened / 4;
    const auto deviation = std::sqrt(expected * (1 - expected) / (k_concentration + 1));
    const auto mean = sum / k_draws;
    EXPECT_NEAR(mean, expected, 4 * deviation / std::sqrt(k_draws));
    EXPECT_NEAR(std::sqrt(squares / k_draws - mean * mean), deviation, 0.05 * deviation);
  }
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
