// Tests programs whose chains never repeat: caches stay bounded, and results are right.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "refusal.hpp"
#include "stencil/execute/tile_size.hpp"
#include "stencil/plan/lru_map.hpp"
#include "stencil/stream/chain_plan_cache.hpp"
#include "terrace/stencil.hpp"

namespace terrace::stencil::test::recent_chains {
namespace {

// Compares with a list in order of use.
TEST(LruMap, Full_EvictsLeastRecentlyUsed) {
  constexpr std::size_t k_max = 5;
  std::mt19937 random(1);
  LruMap<int, std::shared_ptr<int>> map(k_max);
  std::vector<std::pair<int, std::weak_ptr<int>>> truth;  // most recently used at the end
  std::size_t found_ones = 0, left = 0;
  for (int i = 0; i < 10000; ++i) {
    const auto key = std::uniform_int_distribution(0, 9)(random);
    const auto place = std::ranges::find(truth, key, &std::pair<int, std::weak_ptr<int>>::first);
    const auto* const found = map.find(key);
    ASSERT_EQ(found != nullptr, place != truth.end()) << "key " << key;
    if (found) {
      EXPECT_EQ(*found, place->second.lock());
      std::rotate(place, place + 1, truth.end());
      ++found_ones;
      continue;
    }
    truth.emplace_back(key, map.add(key, std::make_shared<int>(key)));
    if (truth.size() > k_max) {
      EXPECT_TRUE(truth.front().second.expired()) << "it is still there";
      truth.erase(truth.begin());
      ++left;
    }
    ASSERT_EQ(map.size(), truth.size());
  }
  EXPECT_GT(found_ones, 1000U);
  EXPECT_GT(left, 1000U);
}

Chain chain_over(std::ptrdiff_t points) {
  Loop loop;
  loop.range = {{0, points}};
  return {loop};
}

// Fake planner: a plan's chunk count is the chain's number of points.
struct Book {
  // Checks the plan of the chain over `points` points; the chain over `follows` points followed it last time.
  void run(std::ptrdiff_t points, std::ptrdiff_t follows) {
    const auto [of_chain, ahead] = book.next(chain_over(points));
    EXPECT_EQ(of_chain->stream->most_chunks, static_cast<std::size_t>(points)) << "the plan of another chain";
    if (!ahead) return;
    ++known_ahead;
    EXPECT_EQ(ahead->most_chunks, static_cast<std::size_t>(follows));
  }
  [[nodiscard]] std::ptrdiff_t there() const {
    return std::ranges::count_if(made, [](const auto& plan) { return !plan.expired(); });
  }
  std::vector<std::weak_ptr<const StreamPlan>> made;
  int known_ahead = 0;
  ChainPlanCache book{[this](std::span<const Loop> chain, bool) {
                        auto plan = std::make_shared<StreamPlan>();
                        plan->most_chunks = chain[0].range.points();
                        made.push_back(plan);
                        return ChainPlan{std::make_unique<TilePlan>(chain, TileSize{}), plan};
                      },
                      true};
};

TEST(ChainPlanCache, RepeatedChains_ReturnPlanAndSuccessor) {
  Book book;
  for (int i = 0; i < 100; ++i) book.run(i % 5 + 1, (i + 1) % 5 + 1);
  EXPECT_EQ(book.made.size(), 10U);  // in both directions
  EXPECT_GE(book.known_ahead, 85);
}

TEST(ChainPlanCache, ManyPlans_EvictOldest) {
  Book book;
  for (int i = 0; i < 2000; ++i) {
    book.run(i % 1000 + 1, (i + 1) % 1000 + 1);
    ASSERT_LE(book.there(), 64);
  }
  EXPECT_EQ(book.made.size(), 2000U);
}

// Chains that never repeat are evicted; the recurring one between them is not.
TEST(ChainPlanCache, FrequentChain_StaysCached) {
  Book book;
  for (int i = 2; i < 1000; ++i) {
    book.run(i, 1);
    const auto before = book.made.size();
    book.run(1, i);
    if (i > 3) {
      EXPECT_EQ(book.made.size(), before) << "it was planned again";
    }
  }
  EXPECT_GT(book.known_ahead, 900);
}

// Each chain has another range and a temporary. The sequence runs twice, so that some evicted chains repeat.
std::vector<double> numbers_of(const Options& options) {
  Context context(options);
  const auto block = context.block("block", {300, 90});
  auto u = block.dataset<double>("u", {{0, -1}, {0, 1}});
  const auto t = block.temporary<double>("t");
  block.loop(
      "start", block.range(), [](auto to, auto at) { to() = static_cast<double>(at[0] % 7 - 2 * at[1]); },
      write(u), index());
  for (int times = 0; times < 2; ++times)
    for (std::ptrdiff_t i = 0; i < 700; ++i) {
      const Range part{{i % 7, 300}, {0, 90 - i / 10}};
      block.loop(
          "mean", part, [](auto to, auto from) { to() = 0.25 * (from(0, -1) + 2 * from() + from(0, 1)); },
          write(t), read(u, Stencil{{0, -1}, {0, 0}, {0, 1}}));
      block.loop(
          "back", Range{{i % 7, 300 - i % 10}, {0, 90 - i / 10}}, [](auto to, auto from) { to() = from(); },
          write(u), read(t));
      context.run();
    }
  return u.get(block.range());
}

TEST(ChainsThatDiffer, NeverRepeating_GiveCorrectValues) {
  const auto expected = numbers_of({.executor = "serial"});
  EXPECT_EQ(numbers_of({.executor = "tiled", .threads = 2}), expected);
  EXPECT_EQ(numbers_of({.executor = "tiled", .threads = 2, .tile = {0, 16, 0}}), expected);
  EXPECT_EQ(numbers_of({.executor = "streamed", .threads = 2, .memory = 64 * 4096, .folder = testing::TempDir()}),
            expected);
}

// A refused chain is refused again.
TEST(ChainsThatDiffer, TooLargeAgain_AreRefusedAgain) {
  Context context(Options{.executor = "serial"});
  const auto block = context.block("block", {8});
  const auto u = block.dataset<double>("u");
  const auto t = block.temporary<double>("t");
  for (int times = 0; times < 2; ++times)
    EXPECT_NE(refusal([&] {
                block.loop(
                    "copy", block.range(), [](auto to, auto from) { to() = from(); }, write(u), read(t));
                context.run();
              }).find("the temporary dataset 't' is read"),
              std::string::npos);
}

}  // namespace
}  // namespace terrace::stencil::test::recent_chains
