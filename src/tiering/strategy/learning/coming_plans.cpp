// See coming_plans.hpp.
#include "strategy/learning/coming_plans.hpp"

#include <limits>

#include "strategy/search/stays.hpp"

namespace terrace::strategy {

namespace {

constexpr Seconds k_longest_wait{50e-3};   // of a program for its plan
constexpr double k_worth_a_change = 1e-3;  // of an iteration: predictions err by no less

}  // namespace

std::deque<ComingPlan> coming_plans(const Planner& planner, const model::Problem& problem,
                                    const model::Calibration& calibration, Clock& clock, bool has_plan,
                                    bool may_end_soon, const std::string& why) {
  std::deque<ComingPlan> coming;
  auto beaten = Seconds{std::numeric_limits<double>::infinity()};
  Seconds taken;
  const auto comes = [&](const Planner& by, Seconds takes, const Decision& decision) {
    taken += takes;
    if (decision.prediction.total > (1 - k_worth_a_change) * beaten) return;
    beaten = decision.prediction.total;
    coming.push_back({make_plan(problem, decision, by.name()), clock.background_finish_time(taken), why, {}});
  };
  const auto make = [&](const Planner& by, Effort effort) {
    auto decision = by.decide(problem, calibration, effort);
    comes(by, by.takes(problem, effort), decision);
    return decision;
  };
  const auto make_all = [&] {
    const bool gains = planner.gains_by(problem, Effort::unhurried);
    if (clock.background_finish_time(planner.takes(problem, Effort::quick)) <= clock.now()) {
      const bool short_enough = planner.takes(problem, Effort::unhurried) <= k_longest_wait;
      make(planner, gains && short_enough ? Effort::unhurried : Effort::quick);
      return;
    }
    const auto* first = has_plan ? nullptr : planner.meanwhile();
    if (first && may_end_soon) first = &stay_planner();
    if (first) make(*first, Effort::quick);
    make(planner, Effort::quick);
    if (!gains) return;
    if (!first || !first->gains_by(problem, Effort::unhurried)) {
      make(planner, Effort::unhurried);
      return;
    }
    const auto meanwhile = make(*first, Effort::unhurried);
    const auto rest = planner.takes(problem, Effort::unhurried) - first->takes(problem, Effort::unhurried);
    comes(planner, rest, planner.decide_after(meanwhile, problem, calibration, Effort::unhurried));
  };
  make_all();
  clock.charge_background_work(taken);
  return coming;
}

}  // namespace terrace::strategy
