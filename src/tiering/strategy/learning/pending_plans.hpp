// SPDX-License-Identifier: Apache-2.0
// Makes plans of a placement problem for LearningStrategy, in the order in which they become available. Planning
// runs concurrently with the program, in modelled time: a quick plan comes first, better ones follow.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/plan.hpp"
#include "model/calibration.hpp"
#include "model/problem.hpp"
#include "strategy/learning/best_first.hpp"
#include "strategy/planner.hpp"

namespace terrace::strategy {

// A plan that is being made. It comes into force with the first phase that begins after `at`.
struct PendingPlan {
  Plan plan;
  Seconds at;
  std::string why;
  // Its moves in order of gain, if the plan is applied in steps (stepwise_migration.hpp).
  std::optional<std::vector<MoveGroup>> groups{};
};

// Returns the plans in the order of their completion. If planning runs concurrently with the program, a good plan
// comes first and better ones follow. `has_plan`: the program follows a plan meanwhile, so that no interim plan is
// needed. `may_end_soon`: the first plan is the one that is made fastest (search/static_planner.hpp). If the
// program waits for its plan, only a short search is made. Charges the planning time to `clock`.
std::deque<PendingPlan> make_pending_plans(const Planner& planner, const model::Problem& problem,
                                           const model::Calibration& calibration, Clock& clock, bool has_plan,
                                           bool may_end_soon, const std::string& why);

}  // namespace terrace::strategy
