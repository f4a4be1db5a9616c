// SPDX-License-Identifier: Apache-2.0
// Requests a plan's moves phase by phase while the program runs, for LearningStrategy. See plan_executor.hpp.
#include "strategy/following/plan_executor.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/segment_name.hpp"
#include "strategy/following/pending_placement.hpp"

namespace terrace::strategy {

namespace {

std::vector<ActiveMove*> pointers_to(std::span<ActiveMove> moves) {
  std::vector<ActiveMove*> each;
  each.reserve(moves.size());
  for (auto& move : moves) each.push_back(&move);
  return each;
}

// Returns the first three names in quotes.
std::string names_of(const std::set<std::string, std::less<>>& names) {
  constexpr std::size_t k_max = 3;
  std::string text;
  std::size_t said = 0;
  for (const auto& name : names) {
    if (said == k_max) return text + " and " + std::to_string(names.size() - k_max) + " more";
    text += (said++ == 0 ? "'" : ", '") + name + "'";
  }
  return text;
}

}  // namespace

PlanExecutor::PlanExecutor(const Plan& plan, const Context& context, bool of_another_run)
    : context_(&context), active_(plan, *context.machine, context.domain), of_another_run_(of_another_run) {
  if (!of_another_run) return;
  for (const auto& phase : plan.phases)
    if (terrace::segment_offset(phase) == 0) phases_not_begun_.insert(phase);
}

void PlanExecutor::bind(const observe::Object& object, Requests& requests) {
  active_.bind(object);
  for (const auto& text : active_.take_notes()) requests.note("note", text);
}

PlacementExtent PlanExecutor::initial_placement(const observe::Object& object, std::uint32_t ordinal,
                                                std::uint32_t left) {
  if (unplanned_ && !active_.names_object(object))
    if (const auto extent = unplanned_->allocate(object, ordinal, left)) return *extent;
  const auto planned = active_.initial_place(object, ordinal);
  std::uint32_t same = 1;
  while (same < left && active_.initial_place(object, ordinal + same) == planned) ++same;
  return {planned == k_no_place ? context_->home() : planned, same};
}

// A plan for objects of other sizes has other chunks, so that a promotion may precede the demotions that free its
// space. Such moves are dropped, because the mover blocks all later moves behind one without space.
void PlanExecutor::request_fitting(const std::vector<ActiveMove*>& moves, std::uint32_t iteration,
                                   Requests& requests, const transfer::TransferStart& start) {
  if (moves.empty()) return;
  if (!active_.scaled()) return requests.request_moves(moves, iteration, start);
  PendingCapacity room(*context_, requests.pending_moves());
  std::vector<ActiveMove*> fitting;
  for (auto* move : moves)
    if ((*context_->chunks)[move->chunk].live && room.move(move->chunk, move->planned.to)) fitting.push_back(move);
  requests.request_moves(fitting, iteration, start);
}

// Requests the moves whose chunks are not at, or on the way to, their target; evictions first.
void PlanExecutor::request_missing(std::vector<ActiveMove*> moves, std::uint32_t iteration, Requests& requests) {
  const PendingPlacement placement(*context_->chunks, requests.pending_moves());
  std::erase_if(moves,
                [&](const ActiveMove* move) { return placement.place_of(move->chunk) == move->planned.to; });
  const auto home = context_->home();
  std::stable_partition(moves.begin(), moves.end(),
                        [&](const ActiveMove* move) { return move->planned.to == home; });
  request_fitting(moves, iteration, requests);
}

std::vector<ActiveMove> PlanExecutor::moves_to_placement(Requests& requests, PhaseIndex phase) {
  const PendingPlacement placement(*context_->chunks, requests.pending_moves());
  const auto resides = [&](ChunkId chunk) { return placement.place_of(chunk); };
  const auto home = context_->home();
  const auto places = active_.places_before(phase);
  std::vector<ActiveMove> moves;
  for (const auto& object : *context_->objects) {
    if (!object.live) continue;
    auto of_object = ActivePlan::moves_to(places, object, resides, home);
    if (unplanned_)
      std::erase_if(of_object, [&](const ActiveMove& move) {
        return move.planned.to == home && unplanned_->retain(move.chunk, resides(move.chunk));
      });
    moves.insert(moves.end(), of_object.begin(), of_object.end());
  }
  std::stable_partition(moves.begin(), moves.end(),
                        [&](const ActiveMove& move) { return move.planned.to == home; });
  return moves;
}

void PlanExecutor::request(std::vector<ActiveMove> moves, std::uint32_t iteration, Requests& requests) {
  request_fitting(pointers_to(moves), iteration, requests);
}

void PlanExecutor::request_placement(Requests& requests, PhaseIndex phase, std::uint32_t iteration) {
  request(moves_to_placement(requests, phase), iteration, requests);
}

void PlanExecutor::on_loop_begin(Requests& requests) {
  at_.reset();
  executed_.clear();
  has_other_phases_ = false;
  requests.limit_rate(1);
}

// Adapts a plan of another run: the placement is fitted to the budget when the loop begins, phases are mapped
// after the first iteration.
void PlanExecutor::on_iteration_begin(const IterationBegins& at, Requests& requests) {
  if (!of_another_run_ || at.iteration > 1) return;
  if (at.iteration == 0) {
    if (!active_.scaled()) return;
    active_.scale_segments_by_size();
    if (const auto misfit =
            active_.fit(*context_->objects, *context_->chunks, context_->budget, context_->home())) {
      requests.note("note", *misfit);
      request_placement(requests, 0, 0);
    }
    return;
  }
  if (!has_other_phases_ && !active_.scaled()) return;
  const auto answered = active_.map_phases(executed_);
  if (!std::exchange(has_other_phases_, false)) return;
  requests.note("note",
                "plan: made of an iteration of " + std::to_string(active_.phases()) +
                    " phases, and this program has " + std::to_string(executed_.size()) + ": " +
                    std::to_string(answered) +
                    " of the plan's match by their names; moves of its other phases are requested in the next "
                    "phase that matches");
  request_placement(requests, 0, at.iteration);
}

// A phase that was shorter than planned did not reach its last segments. Requests the final move of each chunk in
// them, and skips intermediate ones.
void PlanExecutor::skip_remaining_segments(std::uint32_t iteration, Requests& requests) {
  if (!at_) return;
  std::map<ChunkId, ActiveMove*> last;
  while (active_.segment_offset(*at_ + 1) != 0) {
    requests.stop_waiting_for(++*at_);
    for (auto& move : active_.moves_of_phase(*at_)) last[move.chunk] = &move;
  }
  std::vector<ActiveMove*> missing;
  missing.reserve(last.size());
  for (const auto& [chunk, move] : last) missing.push_back(move);
  if (!missing.empty()) request_missing(std::move(missing), iteration, requests);
}

bool PlanExecutor::on_phase_begin(const PhaseBegun& at, bool full_speed, Requests& requests) {
  progress_ = 0;
  if (!phases_not_begun_.empty()) phases_not_begun_.erase(at.name);
  skip_remaining_segments(at.iteration, requests);
  at_.reset();
  const bool expected = active_.expects(at.phase, at.name);
  has_other_phases_ = has_other_phases_ || (of_another_run_ && at.iteration == 0 && !expected);
  if (has_other_phases_) {
    requests.limit_rate(1);
    return false;
  }
  at_ = active_.find_phase(at.phase, at.name);
  has_begun_ = has_begun_ || at_.has_value();
  if (!expected && !std::exchange(mismatch_noted_, true))
    requests.note("warning", "phase " + std::to_string(at.phase) + " is \"" + at.name +
                                 "\", which the plan does not expect there: its moves are left out");
  if (!at_) {
    requests.limit_rate(1);
    return true;
  }
  enter_segment(*at_, true, at.iteration, full_speed, requests);
  begun_ = context_->clock->now();
  if (has_no_progress()) schedule_segments(*at_, at.iteration, full_speed, requests);
  return true;
}

// Waits for the moves that the phase or segment needs, requests its own, and sets their rate.
void PlanExecutor::enter_segment(PhaseIndex phase, bool may_wait, std::uint32_t iteration, bool full_speed,
                                 Requests& requests) {
  const auto settle_needs = [&] {
    if (may_wait) requests.wait_for(phase);
    requests.stop_waiting_for(phase);
  };
  settle_needs();
  request_fitting(pointers_to(active_.moves_of_phase(phase)), iteration, requests);
  settle_needs();  // moves requested and needed by this phase
  // Late moves, and the initial moves of a new plan, are not limited in rate.
  const bool late = requests.is_late();
  requests.limit_rate(late || full_speed ? 1 : active_.rate_limit(phase));
}

// Max delay of a segment whose sentinel is not touched, or whose touch went unnoticed: share of the phase's time.
constexpr double k_sentinel_patience = 0.5;

ChunkId PlanExecutor::sentinel_of(PhaseIndex segment, Requests& requests) {
  if (context_->segments_start != observe::SegmentStart::touch) return memory::k_no_chunk;
  const auto chunk = active_.sentinel(segment);
  if (chunk != memory::k_no_chunk && (*context_->chunks)[chunk].live) return chunk;
  if (!std::exchange(timer_noted_, true))
    requests.note("note",
                  "plan: segments with which no chunk is touched for the first time begin by time, such as " +
                      active_.given().phases[segment]);
  return memory::k_no_chunk;
}

// Requests the moves of all segments when the phase begins, each with its due time, because no accesses are
// reported until the phase ends. If the phase's time is unknown, they become due when it ends.
void PlanExecutor::schedule_segments(PhaseIndex start, std::uint32_t iteration, bool full_speed,
                                     Requests& requests) {
  took_.resize(std::max<std::size_t>(took_.size(), start + 1));
  const auto expected = took_[start].value > 0 ? took_[start] : active_.predicted_time(start);
  const bool at_full_speed = full_speed || requests.is_late();
  for (auto k = start + 1; active_.segment_offset(k) != 0; ++k) {
    transfer::TransferStart when{transfer::k_never, at_full_speed ? 1 : active_.rate_limit(k)};
    const auto moves = pointers_to(active_.moves_of_phase(k));
    if (moves.empty()) continue;
    when.sentinel = sentinel_of(k, requests);
    if (expected.value > 0) when.fallback_due = begun_ + active_.share_of_time(start, k) * expected;
    if (when.sentinel == memory::k_no_chunk)
      when.due = when.fallback_due;
    else if (expected.value > 0)
      when.due = when.fallback_due + k_sentinel_patience * expected;
    request_fitting(moves, iteration, requests, when);
  }
}

// Enters the segments that the program has reached. If a phase continues after its last segment, the plan resumes
// at the segment that resembles what follows (ActivePlan::Continuation).
void PlanExecutor::on_progress(const Progressed& by, bool full_speed, Requests& requests) {
  progress_ += by.accesses;
  if (!by.in_stride || !at_ || has_no_progress()) return;
  for (;;) {
    const auto next = active_.segment_offset(*at_ + 1);
    if (next != 0) {
      if (progress_ < next) return;
      enter_segment(++*at_, false, by.iteration, full_speed, requests);
      continue;
    }
    const auto continuation = active_.continuation(*at_);
    if (!continuation || progress_ < continuation->after) return;
    request_missing(pointers_to(active_.rewind_moves(*at_)), by.iteration, requests);
    progress_ -= continuation->back;
    at_ = continuation->from;
    enter_segment(*at_, false, by.iteration, full_speed, requests);
  }
}

std::string PlanExecutor::describe_phases_not_begun(bool in_loop) const {
  const auto& plan = active_.given();
  if (has_begun_)
    return phases_not_begun_.empty() ? std::string() : "plan: no phase " + names_of(phases_not_begun_) + " began";
  if (active_.phases() == 0) return {};
  const auto what = in_loop              ? "none of its phases began, such as " + plan.phases.front()
                    : !plan.loop.empty() ? "its loop, " + plan.loop + ", did not begin"
                                         : std::string("no main loop began");
  return "plan: " + what +
         (plan.moves.empty() ? "; it only said where objects are at first" : ", so none of its moves was made");
}

// Returns a line for the summary that names the objects of the plan which the program never allocated. Objects that
// the plan neither places nor moves are not named.
std::string PlanExecutor::describe_missing_objects() const {
  const auto& plan = active_.given();
  std::set<std::uint32_t> wanted;
  for (std::uint32_t o = 0; o < plan.objects.size(); ++o)
    if (!plan.objects[o].parts.empty()) wanted.insert(o);
  for (const auto& move : plan.moves) wanted.insert(move.object);
  std::set<std::string, std::less<>> missing;
  for (const auto o : wanted)
    if (std::ranges::none_of(*context_->objects, [&](const observe::Object& object) {
          return matches_name(plan.objects[o], object.name);
        }))
      missing.insert(plan.objects[o].name);
  return missing.empty() ? std::string() : "plan: the program had no object " + names_of(missing);
}

std::vector<std::string> PlanExecutor::unfollowed(bool in_loop) const {
  std::vector<std::string> sentences;
  for (auto sentence : {describe_phases_not_begun(in_loop), describe_missing_objects()})
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  const auto& machine = active_.given().machine;
  if (!machine.empty() && machine != context_->machine->name())
    sentences.push_back("plan: it was made for the machine '" + machine + "', and this is '" +
                        context_->machine->name() + "'");
  return sentences;
}

// Makes pending moves due, in their order, if the phase was shorter than expected.
void PlanExecutor::on_phase_end(const PhaseEnded& at, Requests& requests) {
  if (at_ && has_no_progress()) {
    took_[*at_] = context_->clock->now() - begun_;
    requests.expedite_pending();
    while (active_.segment_offset(*at_ + 1) != 0) requests.stop_waiting_for(++*at_);
    at_.reset();
  }
  if (of_another_run_ && at.iteration == 0) executed_.push_back({at.name, at.accesses});
}

}  // namespace terrace::strategy
