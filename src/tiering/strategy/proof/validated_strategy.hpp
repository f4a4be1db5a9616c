// A strategy whose placements have to prove themselves: iterations under a plan are compared with iterations
// without one, and a plan that makes them slower beyond noise is undone: everything goes to where it would be
// without, and nothing moves any more in this loop.
//
//   learned   The iterations before the plan is in force are what it is compared with, but for the first, which
//             makes much anew, and for those that learning slows down. There has to be one: the plan waits for it.
//   given     A plan that was given holds from the first iteration on. After the second it is suspended for one,
//             with everything where the kernel would have put it, which is what it is compared with.
//
// Judged are iterations that begin when the plan's first moves are done; a learned plan by two of them, as a
// single one may be slow for reasons of its own. When a plan is undone the next two iterations are watched: where
// they are no faster, the program has slowed down by itself, and the plan is in force again, for good.
//
// Every 16 iterations a learned plan is looked at again, by medians.
//
// What was gained is told by neighbours in time: the last iterations without a plan, and the first with it; or,
// where it was taken away, the last with it and the next without. Where these change by themselves nothing is
// told.
//
// Loops that are cut by time are not judged: their iterations take as long as they are cut.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "strategy/proof/judge.hpp"
#include "strategy/proof/suppressed_requests.hpp"
#include "strategy/strategy.hpp"

namespace terrace::strategy {

class ValidatedStrategy final : public Strategy {
 public:
  // `learning_slows`: the program, so that iterations that are learned from prove nothing. `is_given`: a plan
  // holds from the start; `predicted`: of that plan.
  ValidatedStrategy(const Context& context, std::unique_ptr<Strategy> inner, bool learning_slows, bool is_given,
                    const PredictedTimes& predicted);

  [[nodiscard]] PlacementExtent initial_placement(const observe::Object& object, std::uint32_t ordinal,
                                                  std::uint32_t left) override;
  using Strategy::observe;
  void observe(const ObjectAdded& event, Requests& requests) override;
  void observe(const LoopBegun& event, Requests& requests) override;
  void observe(const LoopEnded& event, Requests& requests) override;
  void observe(const SegmentProfiled& event, Requests& requests) override;
  void observe(const IterationProfiled& event, Requests& requests) override;
  void observe(const IterationBegins& event, Requests& requests) override;
  void observe(const PhaseBegins& event, Requests& requests) override;
  void observe(const PhaseBegun& event, Requests& requests) override;
  void observe(const Progressed& event, Requests& requests) override;
  void observe(const PhaseEnded& event, Requests& requests) override;

  [[nodiscard]] bool wants_profile() const override;
  [[nodiscard]] double profile_thinning() const override { return inner_->profile_thinning(); }
  [[nodiscard]] bool moved_while_profiled() const override { return inner_->moved_while_profiled(); }
  [[nodiscard]] std::vector<std::string> unfollowed() const override { return inner_->unfollowed(); }
  [[nodiscard]] bool uses_hints() const override { return inner_->uses_hints(); }

 private:
  enum class State : std::uint8_t {
    unplaced,   // no plan is in force
    moving,     // the moves to where the plan has everything are not done
    judging,    // iterations under the plan are compared
    suspended,  // what a plan that was given is compared with: everything is where it would be without one
    undone,     // the same, and whether it helps is watched
    settled     // nothing is judged any more
  };
  [[nodiscard]] bool is_suspended() const {
    return state_ == State::suspended || state_ == State::undone || is_over_;
  }
  // A plan that is there waits until there is an iteration to compare with.
  [[nodiscard]] bool must_defer_plan() const {
    return is_judged_ && !is_given_ && state_ == State::unplaced && !before_.is_enough();
  }
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
  template <class Event>
  void forward(const Event& event, Requests& requests);

  Context context_;
  std::unique_ptr<Strategy> inner_;
  bool learning_slows_;
  bool is_given_;
  PredictedTimes predicted_;  // of the plan in force

  State state_ = State::unplaced;
  bool is_judged_ = true;        // this loop
  bool is_over_ = false;         // undone for good
  bool was_reinstated_ = false;  // undone once, and not by its fault
  bool in_loop_ = false;
  bool is_proved_ = false;    // a plan of this loop, by enough iterations
  bool is_late_ = false;      // a phase of this iteration was heard of late
  bool has_moved_ = false;    // data, for a plan of this loop
  bool is_learning_ = false;  // in this iteration
  bool is_clean_ = false;     // no moves of ours are under way in this iteration
  std::uint32_t iteration_ = 0;
  std::uint32_t planned_in_ = 0;  // the plan in force was adopted in this iteration
  Seconds time_, work_;           // of this iteration so far
  IterationTimes before_, placed_, after_;
  Evidence evidence_;
  std::uint64_t evidence_left_ = 0;  // so many iterations more are evidence
  PredictedTimes predicted_of_evidence_;
  std::vector<PlaceId> places_before_plan_;  // by chunk, when a learned plan came
  std::vector<PlaceId> places_under_plan_;   // the same when it was suspended
};

}  // namespace terrace::strategy
