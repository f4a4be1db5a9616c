// Follows plans that a planner makes of what was profiled: of the first iteration of each loop, and again where
// the program begins to do something else. A plan that was given is followed from the start; with a planner beside
// it, it is bettered after the first iteration.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strategy/following/followed_plan.hpp"
#include "strategy/hints/counted_placement.hpp"
#include "strategy/learning/coming_plans.hpp"
#include "strategy/learning/gathering_steps.hpp"
#include "strategy/learning/moves_while_learning.hpp"
#include "strategy/learning/payback.hpp"
#include "strategy/learning/plan_trial.hpp"
#include "strategy/learning/variation.hpp"
#include "strategy/strategy.hpp"

namespace terrace::strategy {

class Learning final : public Strategy {
 public:
  // Without a planner (null) the plan that was given is all there is. One of the two is there.
  Learning(const Context& context, const Planner* planner, const std::optional<Plan>& given);

  [[nodiscard]] Stretch initial(const observe::Object& object, std::uint32_t ordinal, std::uint32_t left) override;
  using Strategy::observe;
  void observe(const ObjectAdded& event, Requests& requests) override;
  void observe(const LoopBegun& event, Requests& requests) override;
  void observe(const LoopEnded& event, Requests& requests) override;
  void observe(const StretchProfiled& event, Requests& requests) override;
  void observe(const IterationProfiled& event, Requests& requests) override;
  void observe(const IterationBegins& event, Requests& requests) override;
  void observe(const PhaseBegins& event, Requests& requests) override;
  void observe(const PhaseBegun& event, Requests& requests) override;
  void observe(const Progressed& event, Requests& requests) override;
  void observe(const PhaseEnded& event, Requests& requests) override;

  [[nodiscard]] bool wants_profile() const override { return again_ || learns(iteration_); }
  [[nodiscard]] double profile_thinning() const override { return payback_.thinning(); }
  [[nodiscard]] bool moved_while_profiled() const override { return again_ || moved_early_; }
  [[nodiscard]] bool takes_hints() const override { return planner_ != nullptr && !given_; }
  [[nodiscard]] std::vector<std::string> unfollowed() const override;

 private:
  [[nodiscard]] bool learns(std::uint32_t iteration) const;
  [[nodiscard]] bool may_plan() const {
    return planner_ != nullptr && !gave_up_ && !misses_nowhere_ && !plan_ && !is_learned_;
  }
  [[nodiscard]] bool knows_enough() const;
  [[nodiscard]] std::uint32_t iterations_to_learn() const {
    return std::max(context_.learn_iterations, payback_.iterations());
  }
  [[nodiscard]] bool has_learned(std::uint32_t iterations) const;
  [[nodiscard]] bool moves_early() const;
  // A plan that was made here holds for its loop.
  [[nodiscard]] bool is_plan_over() const { return over_ && (!given_ || bettered_); }
  [[nodiscard]] std::vector<bool> reached() const;
  [[nodiscard]] bool places_by_counts() const { return takes_hints() && context_.hints->has_counts(); }
  void learn(std::string_view loop, Requests& requests);
  void watch(std::uint32_t iteration, Requests& requests);
  void order_first_moves(Requests& requests);
  [[nodiscard]] FollowedPlan followed(const Plan& plan, Requests& requests) const;
  [[nodiscard]] double steps_pay_after(ComingPlan& coming, std::span<const ActiveMove> moves, Requests& requests);
  [[nodiscard]] bool adopt(ComingPlan& coming, const PhaseBegins& at, Requests& requests);
  [[nodiscard]] double pays_after(const Plan& plan, std::span<const ActiveMove> moves) const;
  void put_off();
  [[nodiscard]] bool goes_in_steps(const Plan& plan) const;
  void gather_step(std::uint32_t iteration, Requests& requests);
  [[nodiscard]] std::vector<ActiveMove> take_step(Requests& requests);
  // Returns whether plans of this loop are put on trial (plan_trial.hpp). Otherwise they are guarded
  // (proof/guarded.hpp). Published planners skip the trial of marked loops, as their papers have none.
  [[nodiscard]] bool is_tried() const { return tries_ && payback_.must_pay(); }
  void judge(std::uint32_t iteration, bool was_learned, Requests& requests);
  void withdraw(Seconds behind, std::uint32_t iteration, Requests& requests);
  void restore_after_loop(std::string_view next, Requests& requests);

  Context context_;
  const Planner* planner_;
  bool given_;  // there was a plan at the start
  bool tries_;  // iterations can be compared one by one: plans are tried
  CountedPlacement counted_;
  std::optional<FollowedPlan> plan_;  // in force
  bool over_ = false;                 // the loop that it was made for
  bool let_go_ = false;               // the room that it needed: none of its moves is under way any more
  bool bettered_ = false;             // the plan that was given: by one that was made of its first iteration
  bool gave_up_ = false;              // no plan could be made: data stays where it is
  bool misses_nowhere_ = false;       // the first iteration of this loop: there is nothing to plan
  bool said_ = false;                 // that no plan was made
  bool said_others_ = false;          // that the plan has other phases
  bool is_learned_ = false;           // what a plan of this loop is made of
  bool has_looped_ = false;           // a loop began
  std::deque<ComingPlan> coming_;     // in the order in which they will be done
  std::string why_;                   // a plan is made
  std::optional<std::uint32_t> learns_from_;  // iteration; none: this loop is not worth learning yet
  std::vector<observe::Iteration> learned_;
  std::vector<PlaceId> places_at_start_;  // by chunk, when the profiled iteration began
  Variation variation_;
  Payback payback_;
  GatheringSteps steps_{context_, payback_};
  double waits_for_ = 0;       // the plan that comes: iterations of this loop
  bool is_gathering_ = false;  // moves of the plan in force are still to be requested
  PlanTrial trial_;
  bool is_undisturbed_ = false;  // nothing is under way in this iteration, and no plan is in force
  std::string loop_;             // that began last
  std::map<std::string, std::uint32_t, std::less<>> entries_;  // how often each found loop has begun
  std::string planned_loop_;                  // whose plan moved data away from places_without_plan_
  std::vector<PlaceId> places_without_plan_;  // by chunk; empty: no plan of a found loop has moved anything
  bool again_ = false;                        // this iteration is profiled once more, under a plan
  bool was_again_ = false;                    // what was learned last was
  // Of the moves to where the plan in force has everything: when it is done, phases are watched.
  std::optional<transfer::Ticket> last_arrival_;
  std::optional<MovesWhileLearning> early_;
  bool moved_early_ = false;  // in the iteration that is profiled
  std::uint32_t iteration_ = 0;
};

}  // namespace terrace::strategy
