// Compares best_first() with all orders and all placements, and MoveGainPredictor with predictions of the time
// law.
#include "strategy/learning/best_first.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "../model/random_problem.hpp"
#include "placed_chunks.hpp"
#include "strategy/learning/move_gain_predictor.hpp"
#include "strategy/static_decision.hpp"

namespace terrace::strategy {
namespace {

using Moves = std::vector<std::pair<ChunkId, PlaceId>>;

// Chunks with a worth: the time that an iteration takes longer with them in slow memory. Each move costs one
// second.
struct WorthyChunks : PlacedChunks {
  WorthyChunks(const std::vector<PlaceId>& places, std::vector<double> worths, std::uint64_t capacity)
      : PlacedChunks(places, capacity), worth(std::move(worths)) {}

  [[nodiscard]] std::vector<MoveGroup> order(const Moves& wanted, const PendingMoves& pending = {}) const {
    std::vector<ActiveMove> moves(wanted.size());
    for (std::size_t i = 0; i < moves.size(); ++i) {
      moves[i].chunk = wanted[i].first;
      moves[i].planned.to = wanted[i].second;
    }
    MovePrices prices;
    prices.cost = [](const ActiveMove&) { return Seconds{1}; };
    prices.gain = [&](const ActiveMove& move) {
      return Seconds{move.planned.to == k_fast ? worth[move.chunk] : -worth[move.chunk]};
    };
    prices.apply = [](const ActiveMove&, PlaceId) {};
    return best_first(context, moves, pending, prices);
  }
  // Returns the chunks of each group.
  [[nodiscard]] static std::vector<Moves> moves_of(const std::vector<MoveGroup>& groups) {
    std::vector<Moves> all;
    for (const auto& group : groups) {
      auto& moves = all.emplace_back();
      for (const auto& move : group.moves) moves.emplace_back(move.chunk, move.planned.to);
    }
    return all;
  }

  std::vector<double> worth;
};

TEST(BestFirst, FullFastMemory_BestReplacesWorstFirst) {
  const WorthyChunks program({k_fast, k_fast, k_slow, k_slow}, {2, 1, 3, 4}, 2);
  const auto groups = program.order({{0, k_slow}, {1, k_slow}, {2, k_fast}, {3, k_fast}});
  EXPECT_EQ(WorthyChunks::moves_of(groups),
            (std::vector<Moves>{{{1, k_slow}, {3, k_fast}}, {{0, k_slow}, {2, k_fast}}}));
  ASSERT_EQ(groups.size(), 2);
  EXPECT_EQ(groups[0].price.cost.value, 2);
  EXPECT_EQ(groups[0].price.gain.value, 3);
}

TEST(BestFirst, ChunkWithoutHigherGain_Stays) {
  const WorthyChunks program({k_fast, k_fast, k_slow, k_slow}, {2, 1, 2, 4}, 2);
  const auto groups = program.order({{0, k_slow}, {1, k_slow}, {2, k_fast}, {3, k_fast}});
  EXPECT_EQ(WorthyChunks::moves_of(groups), (std::vector<Moves>{{{1, k_slow}, {3, k_fast}}}));
}

TEST(BestFirst, FreeFastMemory_NothingLeavesThatGainsThere) {
  const WorthyChunks program({k_slow, k_fast, k_fast, k_slow}, {1, 2, -1, 3}, 3);
  const auto groups = program.order({{1, k_slow}, {2, k_slow}, {3, k_fast}});
  EXPECT_EQ(WorthyChunks::moves_of(groups), (std::vector<Moves>{{{3, k_fast}}, {{2, k_slow}}}));
}

TEST(BestFirst, ChunkUnderWay_HasItsSpace) {
  const WorthyChunks program({k_slow, k_fast, k_slow, k_slow}, {2, 1, 3, 3}, 2);
  EXPECT_TRUE(program.order({{2, k_fast}}, {{0, k_fast}}).empty());
  EXPECT_EQ(program.order({{1, k_slow}, {2, k_fast}}, {{0, k_fast}}).size(), 1);
}

// Returns the gain until a time, if moves are made one after the other.
double gained(const std::vector<MovePrice>& prices, const std::vector<std::size_t>& order, double until) {
  double sum = 0, now = 0;
  for (const auto i : order) {
    now += prices[i].cost.value;
    sum += prices[i].gain.value * (until - now);
  }
  return sum;
}

// Random worths: the best chunks are in fast memory at the end, by all sets of chunks that fit, and no other order
// of the groups gains more on the way.
TEST(BestFirst, RandomChunks_LastPlacementIsTheBest_AndNoOrderGainsMore) {
  std::mt19937 random(11);
  for (int n = 0; n < 200; ++n) {
    const std::size_t count = 4 + random() % 4, capacity = 1 + random() % 3;
    std::vector<PlaceId> places(count, k_slow);
    for (std::size_t i = 0, filled = random() % (capacity + 1); i < filled; ++i) places[random() % count] = k_fast;
    std::vector<double> worth(count);
    for (auto& one : worth) one = static_cast<double>(random() % 1000) / 8;
    const auto value = [&](unsigned set) {
      double sum = 0;
      for (std::size_t i = 0; i < count; ++i) sum += (set >> i & 1U) != 0 ? worth[i] : 0;
      return sum;
    };
    unsigned best = 0, now = 0;
    for (unsigned set = 0; set < 1U << count; ++set)
      if (static_cast<std::size_t>(std::popcount(set)) <= capacity && value(set) > value(best)) best = set;
    Moves wanted;
    for (ChunkId i = 0; i < count; ++i) {
      now |= static_cast<unsigned>(places[i] == k_fast) << i;
      const auto to = (best >> i & 1U) != 0 ? k_fast : k_slow;
      if (to != places[i]) wanted.emplace_back(i, to);
    }
    const auto groups = WorthyChunks(places, worth, capacity).order(wanted);
    std::vector<MovePrice> prices;
    double gain = 0;
    for (const auto& group : groups) {
      prices.push_back(group.price);
      gain += group.price.gain.value;
    }
    EXPECT_DOUBLE_EQ(gain, value(best) - value(now)) << n;
    std::vector<std::size_t> order(groups.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto ours = gained(prices, order, 100);
    do {
      EXPECT_LE(gained(prices, order, 100), ours + 1e-9) << n;
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

// The time law's own prediction of an iteration before and after each move, in any order of moves.
TEST(MoveGainPredictor, RandomProblems_AreDifferencesOfPredictions) {
  std::mt19937 random(5);
  for (int n = 0; n < 50; ++n) {
    const auto problem = model::testing::random_problem(random, {});
    const auto count = problem.items.size();
    std::vector<std::uint32_t> items(count);
    std::iota(items.begin(), items.end(), 0U);
    std::vector<Bytes> sizes;
    model::Placement placement;
    for (const auto& item : problem.items) {
      const auto& places = model::fastest_first(problem, item.domain);
      placement.push_back(places[random() % places.size()]);
      sizes.push_back(item.size);
    }
    MoveGainPredictor gains(problem, items);
    gains.begin(placement, sizes);
    for (int m = 0; m < 8; ++m) {
      const auto chunk = static_cast<ChunkId>(random() % count);
      const auto& places = model::fastest_first(problem, problem.items[chunk].domain);
      const auto to = places[random() % places.size()];
      const auto before = static_decision(problem, placement).prediction.total;
      const auto told = gains.gain(chunk, to);
      gains.apply(chunk, to);
      placement[chunk] = to;
      const auto after = static_decision(problem, placement).prediction.total;
      EXPECT_NEAR(told.value, (before - after).value, 1e-9 * before.value) << n;
    }
  }
}

}  // namespace
}  // namespace terrace::strategy
