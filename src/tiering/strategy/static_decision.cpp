// SPDX-License-Identifier: Apache-2.0
// Makes the schedules of planners that never move data: one placement for all phases of an iteration. See
// static_decision.hpp.
#include "strategy/static_decision.hpp"

namespace terrace::strategy {

model::Placement home_placement(const model::Problem& problem) {
  model::Placement placement;
  for (const auto& item : problem.items) {
    placement.push_back(item.pinned != k_no_place ? item.pinned : model::home_of(problem, item.domain));
  }
  return placement;
}

Decision static_decision(const model::Problem& problem, const model::Placement& placement, double gap) {
  Decision decision;
  decision.schedule.phases.assign(problem.phases.size(), placement);
  decision.prediction = model::predict(problem, decision.schedule);
  decision.gap = gap;
  return decision;
}

}  // namespace terrace::strategy
