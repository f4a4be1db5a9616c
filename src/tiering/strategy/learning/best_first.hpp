// SPDX-License-Identifier: Apache-2.0
// Orders a plan's moves by gain per cost (Smith's rule: "Various optimizers for single-stage production", Naval
// Research Logistics Quarterly 3, 1956), so that the accumulated gain is largest whenever the loop ends.
// StepwiseMigration calls it. A move into full fast memory forms a group with the evictions that free its space;
// those with the least loss per byte come first. A group without a gain is dropped.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "strategy/following/pending_placement.hpp"
#include "strategy/strategy.hpp"

namespace terrace::strategy {

// Holds the one-time cost of moves for the program, and their gain in each iteration.
struct MovePrice {
  Seconds cost;
  Seconds gain;
};

// Groups a move with the evictions that it needs; the evictions come first.
struct MoveGroup {
  std::vector<ActiveMove> moves;
  MovePrice price;  // after all earlier groups were applied
};

// Functions that the caller provides: the cost and gain of a move, and the effect of moves decided on.
struct MovePrices {
  std::function<Seconds(const ActiveMove&)> cost;
  std::function<Seconds(const ActiveMove&)> gain;  // once the applied moves are made
  std::function<void(const ActiveMove&, PlaceId to)> apply;
};

// Returns the groups of `moves` (what the plan still has to move) that have a gain. `pending`: moves that were
// requested before and are not done. Each fits into free space once its predecessors are done. Requires: the moves
// start from where chunks are after all moves under way.
[[nodiscard]] std::vector<MoveGroup> best_first(const Context& context, std::span<const ActiveMove> moves,
                                                const PendingMoves& pending, const MovePrices& prices);

}  // namespace terrace::strategy
