// SPDX-License-Identifier: Apache-2.0
// Creates the strategies of planners for the runtime: every planner's plans, and a plan that the user gives, are
// followed by a LearningStrategy.
#include <memory>
#include <optional>

#include "strategy/learning/learning_strategy.hpp"
#include "strategy/planner.hpp"

namespace terrace::strategy {

std::unique_ptr<Strategy> Planner::start(const Context& context) const {
  return std::make_unique<LearningStrategy>(context, this, std::nullopt);
}

std::unique_ptr<Strategy> follow_plan(const Context& context, const Plan& plan, const Planner* better) {
  return std::make_unique<LearningStrategy>(context, better, plan);
}

}  // namespace terrace::strategy
