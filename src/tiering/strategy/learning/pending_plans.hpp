// From a problem to plans in the order in which they will be there.
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

// A plan that is being made: in force from the first phase that begins after `at`.
struct PendingPlan {
  Plan plan;
  Seconds at;
  std::string why;
  // Where they go in steps: its moves, the best first.
  std::optional<std::vector<MoveGroup>> groups{};
};

// Where planning goes on beside the program, that need not wait for the best plan: it has a good one first, and
// better ones after it. `has_plan`: it obeys one that it keeps meanwhile. `may_end_soon`: the good one is the one
// that is there first (search/static_planner.hpp). Where the program itself waits for its plan, a search has to be a short
// one.
std::deque<PendingPlan> make_pending_plans(const Planner& planner, const model::Problem& problem,
                                           const model::Calibration& calibration, Clock& clock, bool has_plan,
                                           bool may_end_soon, const std::string& why);

}  // namespace terrace::strategy
