// SPDX-License-Identifier: Apache-2.0
// Defines the interface of planners, which compute a schedule for a placement problem (model/problem.hpp), and the
// functions that turn their decisions into plans. `terrace plan` and LearningStrategy call them. Each planner is
// one file in planners/ (variant.hpp).
//
// Planners are stateless and thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan.hpp"
#include "model/calibration.hpp"
#include "model/problem.hpp"
#include "strategy/variant.hpp"

namespace terrace::strategy {

struct Decision {
  model::Schedule schedule;
  model::Prediction prediction;
  double gap = 0;          // share of the objective that an inexact search may have missed; 0 if it was exact
  double lower_bound = 0;  // time of an iteration, s; 0: not computed
};

// How much time planning may take: quick while the program runs without a plan, unhurried while it follows one,
// thorough before it runs.
enum class Effort { quick, unhurried, thorough };

class Planner : public Variant {
 public:
  [[nodiscard]] const Planner* planner() const final { return this; }
  // Returns a strategy that profiles the running program and follows this planner's plans. Defined in
  // learning/start_planner.cpp.
  [[nodiscard]] std::unique_ptr<Strategy> start(const Context& context) const override;
  // Returns false for placements that are decided at allocation, without a profiled iteration (static/).
  [[nodiscard]] virtual bool needs_profile() const { return true; }
  [[nodiscard]] virtual Decision decide(const model::Problem& problem, const model::Calibration& calibration,
                                        Effort effort) const = 0;
  // Decides as decide() does, and reuses the decision of interim_planner() with the same effort.
  [[nodiscard]] virtual Decision decide_from(const Decision&, const model::Problem& problem,
                                             const model::Calibration& calibration, Effort effort) const {
    return decide(problem, calibration, effort);
  }
  // Returns whether decisions with that effort can be better than quick ones.
  [[nodiscard]] virtual bool improves_with(const model::Problem& problem, Effort effort) const;
  // Returns the modelled time of planning on a free core, in virtual time (model/costs.hpp), including that of
  // interim_planner().
  [[nodiscard]] virtual Seconds planning_time(const model::Problem& problem, Effort effort) const;
  // Returns a much faster planner whose plan is followed until this one has decided, or nullptr.
  [[nodiscard]] virtual const Planner* interim_planner() const { return nullptr; }
};

// Returns the planner of that name. Throws Error{invalid} if there is no such variant or if it makes no plans.
const Planner& find_planner(std::string_view name);
std::vector<std::string_view> planner_names();
// Returns the names of the planners that need a profile (Planner::needs_profile).
std::vector<std::string_view> profiling_planner_names();
// Returns the names of the variants that decide at run time and work in virtual time only.
std::vector<std::string_view> simulation_only_names();

// Returns a strategy that follows the plan. With `better`, it does so until that planner has made a plan of the
// first iteration; `better` needs a profile. Defined in learning/start_planner.cpp.
std::unique_ptr<Strategy> follow_plan(const Context& context, const Plan& plan, const Planner* better);

// Returns the decision as a plan in names: initial places, and moves with the phase that requests them and the
// phase that waits for them. Initial places are those of the schedule's first phase, so some moves of the first
// iteration find their data in place and do nothing. Computes the lower bound if the decision has none.
Plan make_plan(const model::Problem& problem, const Decision& decision, std::string_view planner_name);

// Returns the profile for plans whose segments begin by the progress measure `progress`. Throws Error{invalid} if
// the profile counts in another unit, or if there is no such measure.
profile::Profile profile_for_progress(const profile::Profile& profile, const std::string& progress);

}  // namespace terrace::strategy
