// Parts of moves that a budget suffices for: each move costs one second, fast memory holds two chunks.
#include "strategy/learning/affordable_moves.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "memory/ledger.hpp"
#include "two_places.hpp"

namespace terrace::strategy {
namespace {

constexpr Bytes k_size{4096};
using Moves = std::vector<std::pair<ChunkId, PlaceId>>;

struct FastMemoryForTwo {
  explicit FastMemoryForTwo(const std::vector<PlaceId>& places) {
    context.machine = &machine;
    context.chunks = &chunks;
    context.ledger = &ledger;
    for (const auto place : places) {
      chunks.add(0, static_cast<std::uint32_t>(k_size.value), 0, 0, place);
      ledger.take(place, k_size);
    }
  }
  [[nodiscard]] Moves affordable(const Moves& wanted, double budget, const UnderWay& under_way = {}) const {
    std::vector<ActiveMove> moves(wanted.size());
    for (std::size_t i = 0; i < moves.size(); ++i) {
      moves[i].chunk = wanted[i].first;
      moves[i].planned.to = wanted[i].second;
    }
    Moves some;
    for (const auto& move :
         affordable_moves(context, moves, under_way, Seconds{budget}, [](const auto&) { return Seconds{1}; }))
      some.emplace_back(move.chunk, move.planned.to);
    return some;
  }

  machine::Machine machine = two_latencies();
  memory::ChunkTable chunks;
  std::unique_ptr<memory::LedgerPage> page = std::make_unique<memory::LedgerPage>();
  memory::Ledger ledger{*page, {Bytes{2 * k_size.value}, Bytes{1 << 20}}};
  Context context;
};

const Moves k_swap_both{{0, k_slow}, {1, k_slow}, {2, k_fast}, {3, k_fast}};

TEST(AffordableMoves, FullFastMemory_EachMoveIn_FollowsTheMoveThatFreesItsSpace) {
  const FastMemoryForTwo program({k_fast, k_fast, k_slow, k_slow});
  EXPECT_EQ(program.affordable(k_swap_both, 4), (Moves{{0, k_slow}, {2, k_fast}, {1, k_slow}, {3, k_fast}}));
}

TEST(AffordableMoves, BudgetForPart_LeavesNoChunkOutForNothing) {
  const FastMemoryForTwo program({k_fast, k_fast, k_slow, k_slow});
  EXPECT_EQ(program.affordable(k_swap_both, 3.5), (Moves{{0, k_slow}, {2, k_fast}}));
  EXPECT_EQ(program.affordable(k_swap_both, 1.5), Moves{});
}

TEST(AffordableMoves, FreeFastMemory_NothingLeavesBeforeAllAreIn) {
  const FastMemoryForTwo program({k_slow, k_fast, k_slow, k_slow});
  EXPECT_EQ(program.affordable({{1, k_slow}, {2, k_fast}}, 1), (Moves{{2, k_fast}}));
  EXPECT_EQ(program.affordable({{1, k_slow}, {2, k_fast}}, 2), (Moves{{2, k_fast}, {1, k_slow}}));
}

TEST(AffordableMoves, ChunkUnderWay_HasItsSpace) {
  const FastMemoryForTwo program({k_slow, k_fast, k_slow, k_slow});
  EXPECT_EQ(program.affordable({{2, k_fast}}, 9, {{0, k_fast}}), Moves{});
  EXPECT_EQ(program.affordable({{1, k_slow}, {2, k_fast}}, 9, {{0, k_fast}}), (Moves{{1, k_slow}, {2, k_fast}}));
}

}  // namespace
}  // namespace terrace::strategy
