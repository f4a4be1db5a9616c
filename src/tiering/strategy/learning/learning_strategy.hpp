// SPDX-License-Identifier: Apache-2.0
// Profiles the first iteration of each loop, has a planner make plans of it, and follows them. The runtime uses it
// under every planner (--planner) that needs a profile, and for plans that the user gives (--plan). Profiles and
// plans again when the program changes (phase_change_detector.hpp). A plan given by the user is followed from the
// start; with a planner, it is replaced by a better one after the first iteration.
//
// Detected loops, and loops of the default planner in virtual time, have to pay: learning and moves are bounded by
// payback_model.hpp, plans are applied in steps (stepwise_migration.hpp) and put on trial (plan_trial.hpp).
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strategy/following/plan_executor.hpp"
#include "strategy/hints/counted_placement.hpp"
#include "strategy/hints/hints.hpp"
#include "strategy/learning/early_mover.hpp"
#include "strategy/learning/payback_model.hpp"
#include "strategy/learning/pending_plans.hpp"
#include "strategy/learning/phase_change_detector.hpp"
#include "strategy/learning/plan_trial.hpp"
#include "strategy/learning/stepwise_migration.hpp"
#include "strategy/strategy.hpp"

namespace terrace::strategy {

class LearningStrategy final : public Strategy {
 public:
  // Requires: `planner` is not null or `given` has a plan. `planner` is borrowed and outlives this.
  LearningStrategy(const Context& context, const Planner* planner, const std::optional<Plan>& given);

  [[nodiscard]] PlacementExtent initial_placement(const observe::Object& object, std::uint32_t ordinal,
                                                  std::uint32_t left) override;
  void on_event(const StrategyEvent& event, Requests& requests) override;

  [[nodiscard]] bool wants_profile() const override { return is_reprofiling_ || must_profile(iteration_); }
  [[nodiscard]] double profile_thinning() const override { return payback_.thinning(); }
  [[nodiscard]] bool moved_while_profiled() const override { return is_reprofiling_ || has_moved_early_; }
  [[nodiscard]] bool uses_hints() const override { return planner_ != nullptr && !given_; }
  [[nodiscard]] std::vector<std::string> unfollowed() const override;

 private:
  void handle(const ObjectAdded& event, Requests& requests);
  void handle(const LoopBegun& event, Requests& requests);
  void handle(const LoopEnded&, Requests&);
  void handle(const SegmentProfiled& event, Requests& requests);
  void handle(const IterationProfiled& event, Requests& requests);
  void handle(const IterationBegins& event, Requests& requests);
  void handle(const PhaseBegins& event, Requests& requests);
  void handle(const PhaseBegun& event, Requests& requests);
  void handle(const Progressed& event, Requests& requests);
  void handle(const PhaseEnded& event, Requests& requests);
  [[nodiscard]] bool must_profile(std::uint32_t iteration) const;
  [[nodiscard]] bool may_plan() const {
    return planner_ != nullptr && !planning_failed_ && !has_no_misses_ && !plan_ && !is_learned_;
  }
  [[nodiscard]] bool has_enough_samples() const;
  [[nodiscard]] std::uint32_t iterations_to_learn() const {
    return std::max(context_.learn_iterations, payback_.iterations());
  }
  [[nodiscard]] bool has_learned(std::uint32_t iterations) const;
  [[nodiscard]] bool can_move_early() const;
  // Returns whether the loop of the plan in force has ended. Plans given by the user are not bound to a loop.
  [[nodiscard]] bool is_plan_over() const { return is_loop_over_ && (!given_ || is_improved_); }
  [[nodiscard]] std::vector<bool> reached_chunks() const;
  [[nodiscard]] bool places_by_counts() const { return uses_hints() && context_.hints->has_counts(); }
  void plan_from_profile(std::string_view loop, Requests& requests);
  void make_plans(model::Problem problem, bool has_plan, Requests& requests);
  void on_planning_failed(const std::string& why, bool has_plan, Requests& requests);
  void detect_change(std::uint32_t iteration, Requests& requests);
  // learning_ranks.cpp: ranks of an MPI job that divide a node's fast memory.
  void publish_gains(model::Problem problem);
  void plan_divided(std::uint32_t iteration, Requests& requests);
  void request_missing(std::uint32_t iteration, Requests& requests);
  struct PhaseTimes {
    Seconds total, in_mpi;
  };
  void add_phase_time(const PhaseEnded& event);
  void end_iteration_times(bool was_profiled);
  void profile_with_others(std::uint32_t iteration, Requests& requests);
  [[nodiscard]] std::vector<Bytes> unmovable_bytes() const;
  [[nodiscard]] bool exceeds_share() const;
  [[nodiscard]] bool waits_in_mpi(PhaseIndex phase) const;
  void order_first_moves(Requests& requests);
  [[nodiscard]] PlanExecutor make_executor(const Plan& plan, Requests& requests) const;
  [[nodiscard]] double steps_pay_after(PendingPlan& pending, std::span<const ActiveMove> moves,
                                       Requests& requests);
  [[nodiscard]] bool adopt(PendingPlan& pending, const PhaseBegins& at, Requests& requests);
  [[nodiscard]] double pays_after(const Plan& plan, std::span<const ActiveMove> moves) const;
  void postpone();
  [[nodiscard]] bool can_step(const Plan& plan) const;
  void request_step(std::uint32_t iteration, Requests& requests);
  [[nodiscard]] std::vector<ActiveMove> take_step(Requests& requests);
  // Returns whether plans of this loop are put on trial (plan_trial.hpp). Otherwise they are validated by
  // proof/validated_strategy.hpp. Published planners skip the trial of marked loops, as their papers have none.
  [[nodiscard]] bool must_try() const { return can_try_ && payback_.must_pay(); }
  void judge(std::uint32_t iteration, bool was_learned, Requests& requests);
  void withdraw(Seconds behind, std::uint32_t iteration, Requests& requests);
  void restore_after_loop(std::string_view next, Requests& requests);

  Context context_;
  const Planner* planner_;
  bool given_;    // the user gave a plan
  bool can_try_;  // iteration times are exact, so that plans can be tried
  CountedPlacement counted_;
  std::optional<PlanExecutor> plan_;             // in force
  bool is_loop_over_ = false;                    // the loop of the plan has ended
  bool has_released_capacity_ = false;           // the plan is over and none of its moves is pending
  bool is_improved_ = false;                     // the given plan was replaced by one of its first iteration
  bool planning_failed_ = false;                 // data stays where it is
  bool has_no_misses_ = false;                   // the profiled iteration had no misses: nothing to plan
  bool has_warned_ = false;                      // of planning_failed_
  bool has_noted_mismatch_ = false;              // the plan has other phases
  bool is_learned_ = false;                      // profiling of this loop is complete
  bool has_looped_ = false;                      // a loop has begun
  std::deque<PendingPlan> pending_plans_;        // in order of completion
  std::string why_;                              // the reason of the pending plans, for the journal
  std::optional<std::uint32_t> first_profiled_;  // iteration; none: profiling does not pay yet
  std::vector<observe::Iteration> profiled_;
  std::vector<PlaceId> places_at_start_;  // by chunk, when the profiled iteration began
  PhaseChangeDetector change_detector_;
  PaybackModel payback_;
  StepwiseMigration steps_{context_, payback_};
  double adopt_at_ = 0;        // iterations of this loop before the pending plan pays
  bool is_migrating_ = false;  // moves of the plan in force are still to be requested
  PlanTrial trial_;
  bool is_undisturbed_ = false;                                // this iteration has no plan and no pending moves
  std::string loop_;                                           // the present or last one
  std::map<std::string, std::uint32_t, std::less<>> entries_;  // how often each detected loop has begun
  std::string planned_loop_;                  // whose plan moved data away from places_without_plan_
  std::vector<PlaceId> places_without_plan_;  // by chunk; empty: no plan of a detected loop has moved data
  bool is_reprofiling_ = false;               // this iteration is profiled again, under a plan
  bool was_reprofiled_ = false;               // the last profile was taken under a plan
  // The last of the plan's initial moves; phases are compared from its completion on.
  std::optional<transfer::Ticket> last_arrival_;
  std::optional<EarlyMover> early_;
  bool has_moved_early_ = false;  // data moved in the profiled iteration
  std::uint32_t iteration_ = 0;
  // With ranks: the problem by which fast memory is divided, and planned again when the division changes.
  std::optional<model::Problem> problem_;
  bool awaits_division_ = false;
  std::vector<PhaseTimes> times_now_;       // of this iteration, by phase
  std::vector<PhaseTimes> times_;           // of the iteration before
  std::vector<PhaseTimes> profiled_times_;  // sums over the profiled iterations
  std::uint32_t num_profiled_times_ = 0;    // iterations in profiled_times_
  std::uint32_t next_request_ = 0;          // the iteration in which moves that were refused are requested again
  std::uint32_t request_interval_ = 1;      // iterations
  Bytes available_;                         // of the divided places, when these moves were last selected
};

}  // namespace terrace::strategy
