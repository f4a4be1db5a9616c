// Plans in which every item has one place for the whole iteration, chosen by what its uses cost.
#pragma once

#include "model/relaxation.hpp"
#include "strategy/planner.hpp"

namespace terrace::strategy {

// Returns the placement that costs least where the iteration's resources (time, bandwidths) have these prices.
[[nodiscard]] Decision stay_priced(const model::Problem& problem, const model::Multipliers& prices);

// Decides so at the prices of all items at home, in one pass over the uses: a plan that is soon there.
const Planner& stay_planner();

}  // namespace terrace::strategy
