// SPDX-License-Identifier: Apache-2.0
// Makes plans without moves: chooses one place per item for the whole iteration. The default planner uses it, and
// learning/pending_plans.cpp for the first plan.
#pragma once

#include "model/relaxation.hpp"
#include "strategy/planner.hpp"

namespace terrace::strategy {

// Returns the placement of least cost (a knapsack for each domain, choose.hpp) at these shadow prices of time
// and bandwidth.
[[nodiscard]] Decision priced_static_decision(const model::Problem& problem, const model::Multipliers& prices);

// Returns the planner that uses the prices of everything at home. It takes one pass over the uses, so its plan
// is early.
const Planner& static_planner();

}  // namespace terrace::strategy
