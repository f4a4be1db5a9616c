// A planner: problem -> schedule. Each is a file of its own in planners/ (variant.hpp).
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
  double gap = 0;          // share of the objective that an inexact search may have missed; 0 when it was exact
  double lower_bound = 0;  // an iteration, s; 0 when it was not computed
};

// How much time planning may take: quick while the program runs on without a plan, unhurried while it obeys one,
// thorough before it runs.
enum class Effort { quick, unhurried, thorough };

class Planner : public Variant {
 public:
  [[nodiscard]] const Planner* planner() const final { return this; }
  // Its plans of what is profiled are followed, while the program runs.
  [[nodiscard]] std::unique_ptr<Strategy> start(const Context& context) const override;
  // False for one that looks at no traffic: its choice is made when memory is, without an iteration to learn from.
  [[nodiscard]] virtual bool needs_profile() const { return true; }
  [[nodiscard]] virtual Decision decide(const model::Problem& problem, const model::Calibration& calibration,
                                        Effort effort) const = 0;
  // The same, where what interim_planner() decides with that effort is known.
  [[nodiscard]] virtual Decision decide_from(const Decision&, const model::Problem& problem,
                                             const model::Calibration& calibration, Effort effort) const {
    return decide(problem, calibration, effort);
  }
  // Whether it finds more with that effort than in a hurry.
  [[nodiscard]] virtual bool improves_with(const model::Problem& problem, Effort effort) const;
  // Of a processor beside the program, in virtual time (model/costs.hpp); interim_planner()'s part is in it.
  [[nodiscard]] virtual Seconds planning_time(const model::Problem& problem, Effort effort) const;
  // Another one that decides much sooner, whose plan may be obeyed until this one has decided; nullptr for none.
  [[nodiscard]] virtual const Planner* interim_planner() const { return nullptr; }
};

// The variant of that name, which has to be one that makes plans; throws Error{invalid} for any other.
const Planner& find_planner(std::string_view name);
std::vector<std::string_view> planner_names();
// The names of those that decide in virtual time only, while the program runs.
std::vector<std::string_view> simulation_only_names();

// The plan is followed as it is; with `better`, which needs a profile, until that has made one of the first
// iteration.
std::unique_ptr<Strategy> follow_plan(const Context& context, const Plan& plan, const Planner* better);

// The decision in names: initial places, moves with the phase that asks and the phase that waits. What is where
// when the loop begins is what the schedule's first phase wants, so that some moves find their data in place
// already in the first iteration: they are then nothing to do. Computes the lower bound where the decision has
// none.
Plan make_plan(const model::Problem& problem, const Decision& decision, std::string_view planner_name);

// The profile for plans whose segments begin by `progress`. Throws Error{invalid} where the profile counts in
// another unit, or there is no such measure.
profile::Profile profile_for_progress(const profile::Profile& profile, const std::string& progress);

}  // namespace terrace::strategy
