// SPDX-License-Identifier: Apache-2.0
// Has the planner make a quick plan and then better ones, each available after its modelled planning time, for
// LearningStrategy. See pending_plans.hpp.
#include "strategy/learning/pending_plans.hpp"

#include <limits>

#include "strategy/search/static_planner.hpp"

namespace terrace::strategy {

namespace {

constexpr Seconds k_max_wait{50e-3};        // of a program for its plan
constexpr double k_min_improvement = 1e-3;  // of an iteration; predictions are not more accurate

}  // namespace

std::deque<PendingPlan> make_pending_plans(const Planner& planner, const model::Problem& problem,
                                           const model::Calibration& calibration, Clock& clock, bool has_plan,
                                           bool may_end_soon, const std::string& why) {
  std::deque<PendingPlan> pending;
  auto beaten = Seconds{std::numeric_limits<double>::infinity()};
  Seconds taken;
  const auto add_plan = [&](const Planner& by, Seconds duration, const Decision& decision) {
    taken += duration;
    if (decision.prediction.total > (1 - k_min_improvement) * beaten) return;
    beaten = decision.prediction.total;
    pending.push_back({make_plan(problem, decision, by.name()), clock.background_finish_time(taken), why, {}});
  };
  const auto make = [&](const Planner& by, Effort effort) {
    auto decision = by.decide(problem, calibration, effort);
    add_plan(by, by.planning_time(problem, effort), decision);
    return decision;
  };
  const auto make_all = [&] {
    const bool gains = planner.improves_with(problem, Effort::unhurried);
    if (clock.background_finish_time(planner.planning_time(problem, Effort::quick)) <= clock.now()) {
      const bool short_enough = planner.planning_time(problem, Effort::unhurried) <= k_max_wait;
      make(planner, gains && short_enough ? Effort::unhurried : Effort::quick);
      return;
    }
    const auto* first = has_plan ? nullptr : planner.interim_planner();
    if (first && may_end_soon) first = &static_planner();
    if (first) make(*first, Effort::quick);
    make(planner, Effort::quick);
    if (!gains) return;
    if (!first || !first->improves_with(problem, Effort::unhurried)) {
      make(planner, Effort::unhurried);
      return;
    }
    const auto interim = make(*first, Effort::unhurried);
    const auto rest =
        planner.planning_time(problem, Effort::unhurried) - first->planning_time(problem, Effort::unhurried);
    add_plan(planner, rest, planner.decide_from(interim, problem, calibration, Effort::unhurried));
  };
  make_all();
  clock.charge_background_work(taken);
  return pending;
}

}  // namespace terrace::strategy
