// Tests the division of a budget against its rules. For small cases the shares are found by trying every set of
// processes whose quota is reached.
#include "memory/ledger/division.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace terrace::memory {
namespace {

std::vector<std::uint64_t> divided(std::uint64_t budget, std::uint64_t granule,
                                   const std::vector<LedgerDemand>& demands) {
  std::vector<std::uint64_t> shares(demands.size(), ~0ull);
  divide_budget(budget, granule, demands, shares);
  return shares;
}

using Shares = std::vector<std::uint64_t>;

TEST(BudgetDivision, Weights_SetProportions) {
  EXPECT_EQ(divided(600, 1, {{.weight = 1}, {.weight = 2}, {.weight = 3}}), (Shares{100, 200, 300}));
  EXPECT_EQ(divided(600, 1, {{.weight = 1}, {.weight = 0}, {.weight = 1}}), (Shares{300, 0, 300}));
}

TEST(BudgetDivision, ReachedQuota_RestIsRedistributed) {
  EXPECT_EQ(divided(600, 1, {{.quota = 60}, {}, {}}), (Shares{60, 270, 270}));
  EXPECT_EQ(divided(600, 1, {{.quota = 60}, {.quota = 250}, {}}), (Shares{60, 250, 290}));
  EXPECT_EQ(divided(600, 1, {{.quota = 60}, {.quota = 50}}), (Shares{60, 50})) << "the rest is unassigned";
}

TEST(BudgetDivision, Gains_SetProportions) {
  EXPECT_EQ(divided(600, 1, {{.gain = 2e-9}, {.gain = 4e-9}}), (Shares{200, 400}));
  EXPECT_EQ(divided(900, 1, {{.gain = 2e-9}, {.gain = 4e-9}, {}}), (Shares{200, 400, 300})) << "unknown: the mean";
  EXPECT_EQ(divided(600, 1, {{.gain = 0}, {.gain = 0}}), (Shares{300, 300}));
  EXPECT_EQ(divided(600, 1, {{.gain = 0}, {.gain = 1}}), (Shares{0, 600}));
  EXPECT_EQ(divided(600, 1, {{.gain = 0}, {.quota = 100, .gain = 1}}), (Shares{500, 100}));
}

TEST(BudgetDivision, Shares_AreWholeGranulesThatAddUp) {
  EXPECT_EQ(divided(10 * 4096 + 100, 4096, {{}, {}, {}}), (Shares{4 * 4096, 3 * 4096, 3 * 4096}));
  EXPECT_EQ(divided(10 * 4096, 4096, {{.quota = 4095}, {}}), (Shares{0, 10 * 4096}));
  EXPECT_EQ(divided(100, 4096, {{}}), (Shares{0}));
  EXPECT_EQ(divided(~0ull, 1, {{.weight = ~0u}, {.weight = ~0u}}), (Shares{1ull << 63, (1ull << 63) - 1}));
  EXPECT_EQ(divided(4096, 4096, {}), Shares{});
}

// Shares by the rules if exactly the processes in `full` reach their quota; nothing if that contradicts the rules.
struct Trial {
  std::vector<std::uint64_t> whole;
  std::vector<std::uint64_t> fraction;
};
std::optional<Trial> tried(std::uint64_t granules, const std::vector<LedgerDemand>& demands, unsigned full) {
  std::uint64_t left = granules;
  std::uint64_t weights = 0;
  for (std::size_t i = 0; i < demands.size(); ++i) {
    if ((full >> i & 1) == 0) {
      weights += demands[i].weight;
    } else {
      if (demands[i].quota > left) return std::nullopt;
      left -= demands[i].quota;
    }
  }
  Trial trial;
  for (std::size_t i = 0; i < demands.size(); ++i) {
    const auto& demand = demands[i];
    const bool is_full = (full >> i & 1) != 0;
    // The proportional share exceeds the quota of the full ones, and is below the quota of the others.
    if (weights > 0 && (left * demand.weight >= demand.quota * weights) != is_full) return std::nullopt;
    trial.whole.push_back(is_full ? demand.quota : left * demand.weight / weights);
    trial.fraction.push_back(is_full ? 0 : left * demand.weight % weights);
  }
  return trial;
}

TEST(BudgetDivision, RandomDemands_EqualBruteForce) {
  std::mt19937 random(3);
  for (int round = 0; round < 20000; ++round) {
    const std::uint64_t granules = random() % 60;
    std::vector<LedgerDemand> demands(1 + random() % 6);
    for (auto& demand : demands) demand = {random() % 30, 1 + static_cast<std::uint32_t>(random() % 5), -1};
    std::vector<std::vector<std::uint64_t>> found;
    for (unsigned full = 0; full < 1u << demands.size(); ++full) {
      auto trial = tried(granules, demands, full);
      if (!trial) continue;
      const auto sum = std::accumulate(trial->whole.begin(), trial->whole.end(), std::uint64_t{0});
      const bool all_full = full + 1 == 1u << demands.size();
      for (auto rest = all_full ? 0 : granules - sum; rest > 0; --rest) {
        const auto most = std::ranges::max_element(trial->fraction);
        ++trial->whole[static_cast<std::size_t>(most - trial->fraction.begin())];
        *most = 0;
      }
      found.push_back(trial->whole);
    }
    ASSERT_FALSE(found.empty()) << "round " << round;
    const auto shares = divided(granules, 1, demands);
    ASSERT_EQ(shares, found.front()) << "round " << round;
    for (const auto& other : found) ASSERT_EQ(shares, other) << "round " << round;
  }
}

TEST(BudgetDivision, ExtremeDemands_StayWithinBudgetAndQuota) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 3000; ++round) {
    std::vector<LedgerDemand> demands(1 + random() % k_ledger_slots);
    std::uint64_t wanted = 0;
    const std::uint64_t granule = 1ull << random() % 22;
    for (auto& demand : demands) {
      demand.weight = static_cast<std::uint32_t>(random() >> (32 + random() % 32)) + 1;
      demand.gain = random() % 2 == 0 ? -1 : static_cast<double>(random() % 1000) * 1e-12;
      demand.quota = random() % 3 == 0 ? LedgerDemand::k_no_quota : random() >> (8 + random() % 50);
      const auto more = demand.quota / granule * granule;
      wanted = wanted > ~more ? ~0ull : wanted + more;
    }
    const auto budget = random() >> random() % 64;
    const auto shares = divided(budget, granule, demands);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < demands.size(); ++i) {
      ASSERT_EQ(shares[i] % granule, 0u);
      ASSERT_LE(shares[i], demands[i].quota);
      sum += shares[i];
    }
    ASSERT_EQ(sum, std::min(budget / granule * granule, wanted)) << "round " << round;
  }
}

}  // namespace
}  // namespace terrace::memory
