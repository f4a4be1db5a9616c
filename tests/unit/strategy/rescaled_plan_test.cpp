// Tests plans of other runs: phases of other numbers, and budgets that are too small.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "strategy/plan_rescaling.hpp"

namespace terrace::strategy {
namespace {

using Names = std::vector<std::string>;

// Returns the plan's phase for each phase of the program, "-" for none.
Names matched(const Names& planned, const Names& running) {
  Names names;
  for (const auto& found : match_phases(planned, running)) names.push_back(found ? planned[*found] : "-");
  return names;
}

// One V-cycle.
Names cycle(int levels) {
  Names names;
  const auto at = [](const char* stem, int level) { return std::string(stem) + "." + std::to_string(level); };
  for (int level = levels; level > 1; --level) names.push_back(at("restrict", level));
  names.push_back(at("smooth", 1));
  for (int level = 2; level <= levels; ++level) {
    names.push_back(at("interp", level));
    names.push_back(at("smooth", level));
  }
  names.emplace_back("residual");
  return names;
}

TEST(MatchPhases, EqualPhases_MatchThemselves) {
  EXPECT_EQ(matched(cycle(5), cycle(5)), cycle(5));
  // Repeated names, as of inner iterations.
  EXPECT_EQ(matched({"a", "b", "a", "b"}, {"a", "b", "a", "b"}), (Names{"a", "b", "a", "b"}));
}

TEST(MatchPhases, MoreLevels_FinestLevelsMatch) {
  for (const int more : {1, 2, 3}) {
    const auto planned = cycle(3);
    const auto running = cycle(3 + more);
    const auto names = matched(planned, running);
    EXPECT_EQ(names.front(), "restrict.3");
    EXPECT_EQ(names.back(), "residual");
    EXPECT_EQ(names[names.size() - 2], "smooth.3");
    EXPECT_EQ(names[names.size() - 3], "interp.3");
    EXPECT_EQ(names[names.size() - 4], "smooth.2");
    // Fewer levels than planned.
    const auto fewer = matched(running, planned);
    EXPECT_EQ(std::count(fewer.begin(), fewer.end(), "-"), 0);
    EXPECT_EQ(fewer.front(), running.front());
    EXPECT_EQ(fewer[fewer.size() - 2], running[running.size() - 2]);
  }
}

TEST(MatchPhases, PhasesReordered_KeepsOrder) {
  EXPECT_EQ(matched({"a", "b"}, {"b", "a"}).size(), 2U);
  const auto names = matched({"a", "b"}, {"b", "a"});
  EXPECT_EQ(std::count(names.begin(), names.end(), "-"), 1);
  EXPECT_EQ(matched({"setup", "solve", "write"}, {"solve", "check", "write"}), (Names{"solve", "-", "write"}));
  EXPECT_EQ(matched({"x"}, {"y"}), Names{"-"});
  EXPECT_EQ(matched({}, {"y"}), Names{"-"});
}

TEST(MatchPhases, NumberOutOfRange_IsPartOfTheName) {
  const std::string huge = "x.99999999999999999999999";
  EXPECT_EQ(matched({huge}, {huge, "x.1"}), (Names{huge, "-"}));
}

TEST(ChunksOverBudget, AllFit_IsEmpty) {
  const std::vector<PlannedChunk> away = {{Bytes{10}, Seconds{1}, 0}, {Bytes{10}, Seconds{0}, 0}};
  EXPECT_EQ(chunks_over_budget(away, {Bytes{20}}), (std::vector<bool>{false, false}));
}

TEST(ChunksOverBudget, BudgetTooSmall_IsLeastGainPerByte) {
  const std::vector<PlannedChunk> away = {
      {Bytes{30}, Seconds{3}, 0}, {Bytes{10}, Seconds{2}, 0}, {Bytes{20}, Seconds{1}, 0}};
  EXPECT_EQ(chunks_over_budget(away, {Bytes{40}}), (std::vector<bool>{false, false, true}));
  // A smaller chunk may still fit.
  EXPECT_EQ(chunks_over_budget(away, {Bytes{30}}), (std::vector<bool>{true, false, false}));
}

// For random chunks, the budget is never exceeded, and no chunk is excluded that would fit.
TEST(ChunksOverBudget, RandomChunks_KeepsBudgetWithoutWaste) {
  std::mt19937 random(3);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  for (int n = 0; n < 300; ++n) {
    const machine::Budget budget = {Bytes{below(300)}, Bytes{below(300)}};
    std::vector<PlannedChunk> away(below(12));
    for (auto& chunk : away)
      chunk = {Bytes{1 + below(100)}, Seconds{below(10) * 1e-3}, static_cast<PlaceId>(below(2))};
    const auto out = chunks_over_budget(away, budget);
    const auto fit = [&](std::size_t also) {
      std::uint64_t held[2] = {0, 0};
      for (std::size_t i = 0; i < away.size(); ++i)
        if (!out[i] || i == also) held[away[i].place] += away[i].size.value;
      return held[0] <= budget[0].value && held[1] <= budget[1].value;
    };
    EXPECT_TRUE(fit(away.size())) << n;
    for (std::size_t i = 0; i < away.size(); ++i)
      if (out[i]) {
        EXPECT_FALSE(fit(i)) << n;
      }
  }
}

}  // namespace
}  // namespace terrace::strategy
