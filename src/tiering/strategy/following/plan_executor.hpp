// A plan being obeyed while the program runs: which moves to ask for when a phase or a segment begins, which to
// wait for, and what to do where the program's phases are not the plan's.
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
  // `of_another_run`: it was given, and its phases may not be this program's.
  PlanExecutor(const Plan& plan, const Context& context, bool of_another_run);

  // What is left over stays in faster memory and may be made there.
  void allow_unplanned(UnplannedChunks unplanned) { unplanned_.emplace(std::move(unplanned)); }
  void bind(const observe::Object& object, Requests& requests);
  [[nodiscard]] const ActivePlan& plan() const { return active_; }
  [[nodiscard]] PlacementExtent initial_placement(const observe::Object& object, std::uint32_t ordinal,
                                                  std::uint32_t left);
  // The plan's phase at which the program is when this one begins.
  [[nodiscard]] std::optional<PhaseIndex> find_phase(const PhaseBegins& at) const {
    return at.phase == 0 ? 0 : active_.find_phase(at.phase, at.name);
  }

  // Asks for what brings everything from where it resides, or is on its way to, to where the plan has it when the
  // phase begins: what leaves first.
  void request_placement(Requests& requests, PhaseIndex phase, std::uint32_t iteration);
  // Returns these moves without requesting them.
  [[nodiscard]] std::vector<ActiveMove> moves_to_placement(Requests& requests, PhaseIndex phase);
  void request(std::vector<ActiveMove> moves, std::uint32_t iteration, Requests& requests);
  void on_loop_begin(Requests& requests);
  void on_iteration_begin(const IterationBegins& at, Requests& requests);
  // False where the program has left the plan: its phases are others, and the plan is followed no further.
  [[nodiscard]] bool on_phase_begin(const PhaseBegun& at, bool full_speed, Requests& requests);
  void on_progress(const Progressed& by, bool full_speed, Requests& requests);
  void on_phase_end(const PhaseEnded& at, Requests& requests);
  // In words, what of the plan the run had no use for: phases that did not begin, objects that there were not,
  // another machine. `in_loop`: a loop has begun.
  [[nodiscard]] std::vector<std::string> unfollowed(bool in_loop) const;

 private:
  void request_fitting(const std::vector<ActiveMove*>& moves, std::uint32_t iteration, Requests& requests,
                       const transfer::TransferStart& start = {});
  void request_missing(std::vector<ActiveMove*> moves, std::uint32_t iteration, Requests& requests);
  void skip_remaining_segments(std::uint32_t iteration, Requests& requests);
  [[nodiscard]] std::string describe_phases_not_begun(bool in_loop) const;
  [[nodiscard]] std::string describe_missing_objects() const;
  // Nothing is heard of a phase between its markers.
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
  // In the first iteration of a loop under another run's plan: its phases so far, and whether the plan expects
  // others. It is then left alone until its phases are known.
  std::vector<ExecutedPhase> executed_;
  bool has_other_phases_ = false;
  // Of the plan's phases, where the program is now; where nothing is heard of segments, the phase that they are
  // of.
  std::optional<PhaseIndex> at_;
  std::uint64_t progress_ = 0;  // accesses into the phase, less where it goes back
  Seconds begun_;               // when the phase's moves had been waited for
  std::vector<Seconds> took_;   // by the plan's phase: how long it took the last time from then on
};

}  // namespace terrace::strategy
