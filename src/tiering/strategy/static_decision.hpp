// SPDX-License-Identifier: Apache-2.0
// Makes schedules that never move data: one placement for all phases of an iteration. Shared by planners.
#pragma once

#include "model/problem.hpp"
#include "strategy/planner.hpp"

namespace terrace::strategy {

// Returns the placement of every item in its domain's home, or where it is pinned.
model::Placement home_placement(const model::Problem& problem);

// Returns the schedule that keeps `placement` in every phase, with its prediction. `gap`: see Decision.
Decision static_decision(const model::Problem& problem, const model::Placement& placement, double gap = 0);

}  // namespace terrace::strategy
