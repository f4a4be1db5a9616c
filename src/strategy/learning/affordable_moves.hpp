// The part of a plan's moves that a budget of time suffices for.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "strategy/following/arrivals.hpp"
#include "strategy/strategy.hpp"

namespace terrace::strategy {

using MoveCost = std::function<Seconds(const ActiveMove&)>;

// Returns the first moves to faster places that cost at most `budget` together, each behind the moves home that
// free space for it; then, where all of them are affordable, the other moves home.
[[nodiscard]] std::vector<ActiveMove> affordable_moves(const Context& context, std::span<const ActiveMove> moves,
                                                       const UnderWay& under_way, Seconds budget,
                                                       const MoveCost& cost);

}  // namespace terrace::strategy
