// SPDX-License-Identifier: Apache-2.0
// Implements the planner "auto", the default of --planner: takes the best decision of the other planners, refines
// it by local search if the problem is small enough, and computes the lower bound, which limits the gap to any
// plan.
#include <algorithm>
#include <array>
#include <utility>

#include "model/costs.hpp"
#include "model/lower_bound.hpp"
#include "model/moves.hpp"
#include "strategy/planners/planners.hpp"
#include "strategy/search/ablation.hpp"
#include "strategy/search/refine.hpp"
#include "strategy/search/static_planner.hpp"
#include "strategy/static_decision.hpp"

namespace terrace::strategy {
namespace {

constexpr std::array k_share_of_passes = {16, 8, 1};  // by effort: divisor of the passes of the bound
constexpr double k_close_enough = 1e-3;               // gap to the bound below which no search is made
// The work of a refinement, in predicted items x phases.
constexpr double k_soon_work = 4e5;
constexpr double k_thorough_work = 2e7;

// Returns the placement of the profiled iteration: no plan is predicted to be slower than that.
model::Placement where_it_is(const model::Problem& problem) {
  auto placement = problem.measured_at;
  for (std::size_t i = 0; i < placement.size(); ++i)
    if (problem.items[i].pinned != k_no_place) placement[i] = problem.items[i].pinned;
  return placement;
}

class Auto final : public Planner {
 public:
  [[nodiscard]] std::string_view name() const override { return "auto"; }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration& calibration,
                                Effort effort) const override {
    return decide_from(stream_planner().decide(problem, calibration, effort), problem, calibration, effort);
  }
  [[nodiscard]] Decision decide_from(const Decision& streamed, const model::Problem& problem,
                                     const model::Calibration& calibration, Effort effort) const override {
    auto best = static_decision(problem, home_placement(problem));
    const auto better = [&](Decision other) {
      if (other.prediction.total < best.prediction.total) best = std::move(other);
    };
    better(streamed);
    if (const auto now = where_it_is(problem); model::within_budget(problem, {.phases = {now}}))
      better(static_decision(problem, now));
    better(unimem_planner().decide(problem, calibration, effort));
    // The bound of an exact problem excludes times that depend on the placement in ways that the time law does not
    // model.
    double unexplained = 0;
    for (const auto& phase : problem.phases) unexplained += problem.exact ? phase.unexplained.value : 0;
    const auto passes = model::affordable_passes(problem) / k_share_of_passes[static_cast<std::size_t>(effort)];
    const auto bound = model::lower_bound(problem, best.prediction.total.value - unexplained, {.passes = passes});
    if (is_step_enabled("stays")) {
      better(priced_static_decision(problem, bound.prices));
      better(priced_static_decision(problem, model::prices_at_home(problem)));
    }
    if (effort != Effort::quick && is_step_enabled("prices")) better(stream_priced(problem, bound.prices));
    const auto found = best.prediction.total.value;
    const bool close = found - unexplained - bound.seconds <= k_close_enough * found;
    if (effort != Effort::quick && !close && is_step_enabled("refine"))
      refine(problem, effort == Effort::unhurried ? k_soon_work : k_thorough_work, best);
    const auto total = best.prediction.total.value;
    best.lower_bound = bound.seconds;
    best.gap = total > 0 ? std::max(1 - bound.seconds / total, 0.0) : 0;
    return best;
  }
  [[nodiscard]] const Planner* interim_planner() const override { return &stream_planner(); }
  [[nodiscard]] bool improves_with(const model::Problem& problem, Effort effort) const override {
    return stream_planner().improves_with(problem, effort);
  }
  [[nodiscard]] Seconds planning_time(const model::Problem& problem, Effort effort) const override {
    const auto quick = Planner::planning_time(problem, effort);
    if (effort == Effort::quick) return quick;
    const auto work = effort == Effort::unhurried ? k_soon_work : k_thorough_work;
    return quick + 2 * stream_planner().planning_time(problem, effort) +
           (can_refine(problem, work) ? work : 0) * model::k_first_way_cost;
  }
};

}  // namespace

const Variant& auto_variant() {
  static const Auto planner;
  return planner;
}

}  // namespace terrace::strategy
