// SPDX-License-Identifier: Apache-2.0
// Executes a plan while the program runs, for LearningStrategy: requests the moves of each phase and segment,
// waits for those that a phase needs, and handles programs whose phases differ from the plan's.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "strategy/following/active_plan.hpp"
#include "strategy/following/unplanned_chunks.hpp"
#include "strategy/strategy.hpp"

namespace terrace::strategy {

class PlanExecutor {
 public:
  // `of_another_run`: the plan was given by the user, and its phases may differ from the program's.
  PlanExecutor(const Plan& plan, const Context& context, bool of_another_run);

  // Allows chunks outside of the plan to reside in fast memory that the plan does not use.
  void allow_unplanned(UnplannedChunks unplanned) { unplanned_.emplace(std::move(unplanned)); }
  void bind(const observe::Object& object, Requests& requests);
  [[nodiscard]] const ActivePlan& plan() const { return active_; }
  [[nodiscard]] PlacementExtent initial_placement(const observe::Object& object, std::uint32_t ordinal,
                                                  std::uint32_t left);
  // Returns the plan's phase for the program's phase that begins, or nothing.
  [[nodiscard]] std::optional<PhaseIndex> find_phase(const PhaseBegins& at) const {
    return at.phase == 0 ? 0 : active_.find_phase(at.phase, at.name);
  }

  // Requests the moves from the present placement, pending moves included, to the plan's placement at the
  // beginning of `phase`. Evictions come first.
  void request_placement(Requests& requests, PhaseIndex phase, std::uint32_t iteration);
  // Returns these moves without requesting them.
  [[nodiscard]] std::vector<ActiveMove> moves_to_placement(Requests& requests, PhaseIndex phase);
  void request(std::vector<ActiveMove> moves, std::uint32_t iteration, Requests& requests);
  void on_loop_begin(Requests& requests);
  void on_iteration_begin(const IterationBegins& at, Requests& requests);
  // Returns false if the program's phases differ from the plan's, so that the plan is no longer followed.
  // `full_speed`: do not limit the rate of moves.
  [[nodiscard]] bool on_phase_begin(const PhaseBegun& at, bool full_speed, Requests& requests);
  void on_progress(const Progressed& by, bool full_speed, Requests& requests);
  void on_phase_end(const PhaseEnded& at, Requests& requests);
  // Returns sentences on the parts of the plan that did not apply to the run: phases that did not begin, objects
  // that the program did not have, another machine. `in_loop`: a loop has begun.
  [[nodiscard]] std::vector<std::string> unfollowed(bool in_loop) const;

 private:
  void request_fitting(const std::vector<ActiveMove*>& moves, std::uint32_t iteration, Requests& requests,
                       const transfer::TransferStart& start = {});
  void request_missing(std::vector<ActiveMove*> moves, std::uint32_t iteration, Requests& requests);
  void skip_remaining_segments(std::uint32_t iteration, Requests& requests);
  [[nodiscard]] std::string describe_phases_not_begun(bool in_loop) const;
  [[nodiscard]] std::string describe_missing_objects() const;
  // Returns whether the runtime reports no accesses within a phase, so that segments begin by time or by
  // sentinels.
  [[nodiscard]] bool has_no_progress() const { return context_->segments_start != observe::SegmentStart::count; }
  [[nodiscard]] ChunkId sentinel_of(PhaseIndex segment, Requests& requests);
  void schedule_segments(PhaseIndex start, std::uint32_t iteration, bool full_speed, Requests& requests);
  void enter_segment(PhaseIndex phase, bool may_wait, std::uint32_t iteration, bool full_speed,
                     Requests& requests);

  const Context* context_;
  ActivePlan active_;
  bool of_another_run_;
  std::optional<UnplannedChunks> unplanned_;
  bool mismatch_noted_ = false;
  bool timer_noted_ = false;
  bool has_begun_ = false;                               // a phase of the plan
  std::set<std::string, std::less<>> phases_not_begun_;  // names of phases of a plan that was given
  // In the first iteration of a loop under a plan of another run: the phases executed so far, and whether the plan
  // expects others. It is then suspended until all phases are known.
  std::vector<ExecutedPhase> executed_;
  bool has_other_phases_ = false;
  // The plan's present phase or segment; with has_no_progress() always the phase.
  std::optional<PhaseIndex> at_;
  std::uint64_t progress_ = 0;  // accesses in the phase; a continuation subtracts Continuation::back
  Seconds begun_;               // the phase, after the wait for its moves
  std::vector<Seconds> took_;   // by the plan's phase: its last time from begun_ on
};

}  // namespace terrace::strategy
