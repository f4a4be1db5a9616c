// SPDX-License-Identifier: Apache-2.0
// Wraps a strategy and validates its plans by measurement: compares iterations under a plan with iterations
// without one. The runtime wraps the strategies of planners and plans in it in `terrace run`, and in virtual time
// under --undo. A plan that makes them slower beyond noise is undone: data returns to its placement without the
// plan, and nothing moves any more in this loop.
//
//   learned   The baseline are the iterations before the plan, without the first one, which initialises much, and
//             without those that profiling slows down. At least one is required: the plan waits for it.
//   given     A plan given by the user is in force from the first iteration on. After the second iteration it is
//             suspended for one, with data where the kernel would have placed it. That iteration is the baseline.
//
// Only iterations that begin after the plan's first moves are judged. A learned plan is judged by two of them, as
// a single one may be slow for other reasons. After a plan was undone, the next two iterations are compared with
// it: if they are no faster, the program has slowed down by itself, and the plan is in force again, for good.
//
// Every 16 iterations a learned plan is judged again, by medians.
//
// The reported gain compares iterations that are adjacent in time: the last ones without a plan and the first ones
// with it; or, if it was suspended, the last with it and the next without. If iteration times drift by themselves,
// no gain is reported.
//
// Loops whose iterations are time intervals are not judged, since their time is fixed.
//
// Ranks of an MPI job wait for each other, so that their iterations take equally long, and all of them undo their
// plans or none: one rank judges, and the others follow it (ranks/rank_group.hpp).
//
// Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "strategy/proof/judge.hpp"
#include "strategy/proof/suppressed_requests.hpp"
#include "strategy/ranks/rank_group.hpp"
#include "strategy/strategy.hpp"

namespace terrace::strategy {

class ValidatedStrategy final : public Strategy {
 public:
  // `learning_slows`: profiling slows the program, so that profiled iterations are no baseline. `is_given`: a plan
  // is in force from the start; `predicted`: its predicted times.
  ValidatedStrategy(const Context& context, std::unique_ptr<Strategy> inner, bool learning_slows, bool is_given,
                    const PredictedTimes& predicted);

  [[nodiscard]] PlacementExtent initial_placement(const observe::Object& object, std::uint32_t ordinal,
                                                  std::uint32_t left) override;
  void on_event(const StrategyEvent& event, Requests& requests) override;

  [[nodiscard]] bool wants_profile() const override { return !is_suspended() && inner_->wants_profile(); }
  [[nodiscard]] double profile_thinning() const override { return inner_->profile_thinning(); }
  [[nodiscard]] bool moved_while_profiled() const override { return inner_->moved_while_profiled(); }
  [[nodiscard]] std::vector<std::string> unfollowed() const override { return inner_->unfollowed(); }
  [[nodiscard]] bool uses_hints() const override { return inner_->uses_hints(); }

 private:
  enum class State : std::uint8_t {
    unplaced,   // no plan is in force
    moving,     // the plan's initial moves are not done
    judging,    // iterations under the plan are compared
    suspended,  // a given plan is suspended to measure the baseline
    undone,     // the plan is undone; iterations without it are compared with it
    settled     // judging is over
  };
  [[nodiscard]] bool is_suspended() const {
    return state_ == State::suspended || state_ == State::undone || is_over_;
  }
  // Returns whether a learned plan has to wait until there is a baseline.
  [[nodiscard]] bool must_defer_plan() const {
    return is_judged_ && !is_given_ && state_ == State::unplaced && !before_.is_enough();
  }
  void begin_loop(const LoopBegun& event);
  // Returns whether another rank judges instead of this one; acts as that rank did.
  [[nodiscard]] bool follow_leader(Requests& requests);
  [[nodiscard]] PlanStatus status() const;
  void publish_status();
  // Retries moves that failed because another rank still occupied the memory.
  void complete_restoring(Requests& requests);
  void on_iteration_end(Requests& requests);
  void judge(Requests& requests);
  void count_under_plan();
  void set_evidence(const IterationTimes& without, const IterationTimes& with);
  void restore_unplaced(Requests& requests);
  void reinstate_plan(Requests& requests);
  void suspend(State state, Requests& requests);
  void report_gain(Requests& requests);
  void undo_plan(Requests& requests);
  void move_to(const std::vector<PlaceId>& places, Requests& requests);
  [[nodiscard]] std::vector<PlaceId> places_now() const;
  void forward(const StrategyEvent& event, Requests& requests);

  Context context_;
  std::unique_ptr<Strategy> inner_;
  bool learning_slows_;
  bool is_given_;
  PredictedTimes predicted_;  // of the plan in force

  State state_ = State::unplaced;
  bool is_judged_ = true;        // plans of this loop are judged
  bool is_over_ = false;         // the plan is undone for good
  bool was_reinstated_ = false;  // the plan was undone once, wrongly
  bool in_loop_ = false;
  bool is_proved_ = false;    // the evidence of the first plan of this loop is complete
  bool is_late_ = false;      // the time of a phase of this iteration is not exact
  bool has_moved_ = false;    // data has moved for a plan of this loop
  bool is_learning_ = false;  // this iteration is profiled
  bool is_clean_ = false;     // no moves are pending in this iteration
  std::uint32_t iteration_ = 0;
  std::uint32_t planned_in_ = 0;  // the plan in force was adopted in this iteration
  Seconds time_, work_;           // of this iteration so far
  IterationTimes before_, placed_, after_;
  Evidence evidence_;
  std::uint64_t evidence_left_ = 0;  // further iterations to add to the evidence
  PredictedTimes predicted_of_evidence_;
  std::vector<PlaceId> places_before_plan_;  // by chunk, when a learned plan was adopted
  std::vector<PlaceId> places_under_plan_;   // by chunk, when it was suspended
  std::uint32_t restorations_left_ = 0;      // attempts to move what other ranks left no memory for
};

}  // namespace terrace::strategy
