// Compares the knapsack with brute force.
#include "strategy/search/knapsack.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace terrace::strategy {
namespace {

struct Best {
  double value = -std::numeric_limits<double>::infinity();
  bool any = false;
};

void try_all(const Knapsack& knapsack, std::size_t item, std::vector<std::uint64_t>& room, double value,
             Best& best) {
  if (item == knapsack.items.size()) {
    best.any = true;
    best.value = std::max(best.value, value);
    return;
  }
  const auto& of = knapsack.items[item];
  for (std::size_t b = 0; b < room.size(); ++b) {
    if (of.value[b] <= k_not_allowed || of.size > room[b]) continue;
    room[b] -= of.size;
    try_all(knapsack, item + 1, room, value + of.value[b], best);
    room[b] += of.size;
  }
}

Best brute_force(const Knapsack& knapsack) {
  Best best;
  auto room = knapsack.capacity;
  try_all(knapsack, 0, room, 0, best);
  return best;
}

Knapsack random_case(std::mt19937& random, std::size_t bins) {
  const auto items = 1 + random() % (bins == 2 ? 11 : bins == 3 ? 8 : 6);
  const std::uint64_t granule = random() % 2 == 0 ? 4096 : 1;
  Knapsack knapsack;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < items; ++i) {
    KnapsackItem item;
    item.size = (1 + random() % 20) * granule;
    total += item.size;
    // Values proportional to sizes are the hard cases; rounded values give ties.
    const bool correlated = random() % 3 == 0;
    for (std::size_t b = 0; b < bins; ++b) {
      const auto noise = std::uniform_real_distribution<>(-1, 10)(random);
      auto value =
          correlated ? static_cast<double>(item.size) / static_cast<double>(granule) + 0.1 * noise : noise;
      if (random() % 4 == 0) value = std::round(value);
      if (random() % 12 == 0) value = k_not_allowed;
      item.value.push_back(b + 1 == bins ? 0 : value);
    }
    knapsack.items.push_back(item);
  }
  for (std::size_t b = 0; b < bins; ++b) {
    // The last bin is home: mostly large enough for everything, sometimes not.
    const bool home = b + 1 == bins && random() % 4 != 0;
    knapsack.capacity.push_back(home ? total : random() % (total + 1));
  }
  return knapsack;
}

void check(const Knapsack& knapsack, const KnapsackSolution& answer) {
  const auto best = brute_force(knapsack);
  ASSERT_EQ(answer.feasible, best.any);
  ASSERT_TRUE(answer.exact);
  if (!best.any) return;
  std::vector<std::uint64_t> used(knapsack.capacity.size(), 0);
  double value = 0;
  for (std::size_t i = 0; i < knapsack.items.size(); ++i) {
    used[answer.bin[i]] += knapsack.items[i].size;
    value += knapsack.items[i].value[answer.bin[i]];
  }
  for (std::size_t b = 0; b < used.size(); ++b) ASSERT_LE(used[b], knapsack.capacity[b]);
  ASSERT_NEAR(value, best.value, 1e-9);
  ASSERT_NEAR(answer.value, best.value, 1e-9);
}

class KnapsackBins : public testing::TestWithParam<std::size_t> {};

TEST_P(KnapsackBins, RandomItems_EqualBruteForce) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  for (int i = 0; i < 4000; ++i) {
    const auto knapsack = random_case(random, GetParam());
    check(knapsack, solve(knapsack));
    if (HasFatalFailure()) FAIL() << "case " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(TwoToFour, KnapsackBins, testing::Values(2, 3, 4));

// Beyond the limit of states the solution still fits, and the bound covers its error.
TEST(Knapsack, StatesBeyondLimit_ReportsGap) {
  std::mt19937 random(7);
  int inexact = 0;
  for (int i = 0; i < 500; ++i) {
    const auto knapsack = random_case(random, 3);
    const auto answer = solve(knapsack, 1);
    if (!answer.feasible) continue;
    const auto best = brute_force(knapsack);
    std::vector<std::uint64_t> used(knapsack.capacity.size(), 0);
    for (std::size_t n = 0; n < knapsack.items.size(); ++n) used[answer.bin[n]] += knapsack.items[n].size;
    for (std::size_t b = 0; b < used.size(); ++b) ASSERT_LE(used[b], knapsack.capacity[b]);
    ASSERT_LE(answer.value, best.value + 1e-9);
    ASSERT_GE(answer.bound, best.value - 1e-9);
    if (answer.exact)
      ASSERT_NEAR(answer.value, best.value, 1e-9);
    else
      ++inexact;
  }
  EXPECT_GT(inexact, 0);
}

// Many chunks of one size and a budget of fast memory, as in real programs.
TEST(Knapsack, EqualSizes_TakesMostValuable) {
  std::mt19937 random(3);
  Knapsack knapsack;
  knapsack.capacity = {std::uint64_t{1000} << 16, std::uint64_t{1} << 40};
  std::vector<double> values;
  for (int i = 0; i < 4096; ++i) {
    values.push_back(std::uniform_real_distribution<>(0, 1)(random));
    knapsack.items.push_back({1 << 16, {values.back(), 0}});
  }
  const auto answer = solve(knapsack);
  std::sort(values.rbegin(), values.rend());
  double best = 0;
  for (int i = 0; i < 1000; ++i) best += values[i];
  EXPECT_TRUE(answer.exact);
  EXPECT_NEAR(answer.value, best, 1e-9);
}

}  // namespace
}  // namespace terrace::strategy
