// The order in which a plan's moves gain most, however soon its loop ends: the best first.
//
// Moves that are made one after the other gain most in the order of gain for cost (Smith, "Various optimizers for
// single-stage production", Naval Research Logistics Quarterly 3, 1956). A move into full fast memory counts
// together with the moves home that free space for it, those that lose least for their bytes first. Chunks that
// gain less than what would have to leave for them stay where they are.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "strategy/following/arrivals.hpp"
#include "strategy/strategy.hpp"

namespace terrace::strategy {

// What moves cost the program once, and gain in each iteration.
struct MovePrice {
  Seconds cost;
  Seconds gain;
};

// Moves that are of no use without each other: those that free space come first.
struct MoveGroup {
  std::vector<ActiveMove> moves;
  MovePrice price;  // where all groups before it have been made
};

struct MovePrices {
  std::function<Seconds(const ActiveMove&)> cost;
  std::function<Seconds(const ActiveMove&)> gain;  // once the applied moves are made
  std::function<void(const ActiveMove&, PlaceId to)> apply;
};

// Returns the groups of `moves` that gain anything, each in free space once those before it are done. `moves` are
// from where chunks are once those under way have arrived.
[[nodiscard]] std::vector<MoveGroup> best_first(const Context& context, std::span<const ActiveMove> moves,
                                                const UnderWay& under_way, const MovePrices& prices);

}  // namespace terrace::strategy
