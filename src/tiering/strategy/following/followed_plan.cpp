// See followed_plan.hpp.
#include "strategy/following/followed_plan.hpp"

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

// In quotes, the first three of them.
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

FollowedPlan::FollowedPlan(const Plan& plan, const Context& context, bool of_another_run)
    : context_(&context), active_(plan, *context.machine, context.domain), of_another_run_(of_another_run) {
  if (!of_another_run) return;
  for (const auto& phase : plan.phases)
    if (terrace::segment_offset(phase) == 0) not_begun_.insert(phase);
}

void FollowedPlan::bind(const observe::Object& object, Requests& requests) {
  active_.bind(object);
  for (const auto& text : active_.take_notes()) requests.note("note", text);
}

Stretch FollowedPlan::initial(const observe::Object& object, std::uint32_t ordinal, std::uint32_t left) {
  if (leftovers_ && !active_.knows(object))
    if (const auto stretch = leftovers_->place(object, ordinal, left)) return *stretch;
  const auto planned = active_.initial_place(object, ordinal);
  std::uint32_t same = 1;
  while (same < left && active_.initial_place(object, ordinal + same) == planned) ++same;
  return {planned == k_no_place ? context_->home() : planned, same};
}

// A plan of a run with other sizes has chunks of its own size, so what it asks for may come before what makes room
// for it; since a mover lets everything wait behind what has no room, that is left out.
void FollowedPlan::ask(const std::vector<ActiveMove*>& moves, std::uint32_t iteration, Requests& requests,
                       const transfer::TransferStart& start) {
  if (moves.empty()) return;
  if (!active_.scaled()) return requests.ask(moves, iteration, start);
  RoomAhead room(*context_, requests.under_way());
  std::vector<ActiveMove*> fitting;
  for (auto* move : moves)
    if ((*context_->chunks)[move->chunk].live && room.move(move->chunk, move->planned.to)) fitting.push_back(move);
  requests.ask(fitting, iteration, start);
}

// What is not on its way to where it is wanted: what leaves first, then what comes in.
void FollowedPlan::ask_for_missing(std::vector<ActiveMove*> moves, std::uint32_t iteration, Requests& requests) {
  const PendingPlacement arrivals(*context_->chunks, requests.under_way());
  std::erase_if(moves, [&](const ActiveMove* move) { return arrivals.of(move->chunk) == move->planned.to; });
  const auto home = context_->home();
  std::stable_partition(moves.begin(), moves.end(),
                        [&](const ActiveMove* move) { return move->planned.to == home; });
  ask(moves, iteration, requests);
}

std::vector<ActiveMove> FollowedPlan::moves_to_gather(Requests& requests, PhaseIndex phase) {
  const PendingPlacement arrivals(*context_->chunks, requests.under_way());
  const auto resides = [&](ChunkId chunk) { return arrivals.of(chunk); };
  const auto home = context_->home();
  const auto places = active_.places_before(phase);
  std::vector<ActiveMove> moves;
  for (const auto& object : *context_->objects) {
    if (!object.live) continue;
    auto of_object = ActivePlan::moves_to(places, object, resides, home);
    if (leftovers_)
      std::erase_if(of_object, [&](const ActiveMove& move) {
        return move.planned.to == home && leftovers_->stays(move.chunk, resides(move.chunk));
      });
    moves.insert(moves.end(), of_object.begin(), of_object.end());
  }
  std::stable_partition(moves.begin(), moves.end(),
                        [&](const ActiveMove& move) { return move.planned.to == home; });
  return moves;
}

void FollowedPlan::request(std::vector<ActiveMove> moves, std::uint32_t iteration, Requests& requests) {
  ask(pointers_to(moves), iteration, requests);
}

void FollowedPlan::gather(Requests& requests, PhaseIndex phase, std::uint32_t iteration) {
  request(moves_to_gather(requests, phase), iteration, requests);
}

void FollowedPlan::loop_begun(Requests& requests) {
  at_.reset();
  passed_.clear();
  strayed_ = false;
  requests.limit_rate(1);
}

// What fits of another run's plan is known when the loop begins, which phases answer to its own after the first
// iteration.
void FollowedPlan::iteration_begins(const IterationBegins& at, Requests& requests) {
  if (!of_another_run_ || at.iteration > 1) return;
  if (at.iteration == 0) {
    if (!active_.scaled()) return;
    active_.scale_segments_by_size();
    if (const auto misfit =
            active_.fit(*context_->objects, *context_->chunks, context_->budget, context_->home())) {
      requests.note("note", *misfit);
      gather(requests, 0, 0);
    }
    return;
  }
  if (!strayed_ && !active_.scaled()) return;
  const auto answered = active_.answer(passed_);
  if (!std::exchange(strayed_, false)) return;
  requests.note("note", "plan: made of an iteration of " + std::to_string(active_.phases()) +
                            " phases, and there are " + std::to_string(passed_.size()) +
                            " here: " + std::to_string(answered) +
                            " of them answer to the plan's by their names; what the others ask for is asked for "
                            "by the next");
  gather(requests, 0, at.iteration);
}

// A phase that was shorter than the plan expects did not reach its last segments: where their moves lead is due
// now, and nothing on the way there.
void FollowedPlan::catch_up(std::uint32_t iteration, Requests& requests) {
  if (!at_) return;
  std::map<ChunkId, ActiveMove*> last;
  while (active_.segment_offset(*at_ + 1) != 0) {
    requests.stop_waiting_for(++*at_);
    for (auto& move : active_.asked_in(*at_)) last[move.chunk] = &move;
  }
  std::vector<ActiveMove*> missing;
  missing.reserve(last.size());
  for (const auto& [chunk, move] : last) missing.push_back(move);
  if (!missing.empty()) ask_for_missing(std::move(missing), iteration, requests);
}

bool FollowedPlan::phase_begun(const PhaseBegun& at, bool hurry, Requests& requests) {
  progress_ = 0;
  if (!not_begun_.empty()) not_begun_.erase(at.name);
  catch_up(at.iteration, requests);
  at_.reset();
  const bool expected = active_.expects(at.phase, at.name);
  strayed_ = strayed_ || (of_another_run_ && at.iteration == 0 && !expected);
  if (strayed_) {
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
  enter(*at_, true, at.iteration, hurry, requests);
  begun_ = context_->clock->now();
  if (unheard()) ask_for_segments(*at_, at.iteration, hurry, requests);
  return true;
}

void FollowedPlan::enter(PhaseIndex phase, bool may_wait, std::uint32_t iteration, bool hurry,
                         Requests& requests) {
  const auto settle_needs = [&] {
    if (may_wait) requests.wait_for(phase);
    requests.stop_waiting_for(phase);
  };
  settle_needs();
  ask(pointers_to(active_.asked_in(phase)), iteration, requests);
  settle_needs();  // those that this very phase needs
  // What is late goes at full speed, and so does everything to where a new plan has it.
  const bool late = requests.late();
  requests.limit_rate(late || hurry ? 1 : active_.rate_limit(phase));
}

// A sentinel that nobody touches, or whose touch went unnoticed, holds its segment up for so much of its phase's
// time beyond when it is expected.
constexpr double k_sentinel_patience = 0.5;

ChunkId FollowedPlan::sentinel_of(PhaseIndex segment, Requests& requests) {
  if (context_->segments_start != observe::SegmentStart::touch) return memory::k_no_chunk;
  const auto chunk = active_.sentinel(segment);
  if (chunk != memory::k_no_chunk && (*context_->chunks)[chunk].live) return chunk;
  if (!std::exchange(timer_noted_, true))
    requests.note("note",
                  "plan: segments with which no chunk is touched for the first time begin by time, such as " +
                      active_.given().phases[segment]);
  return memory::k_no_chunk;
}

// All at once when the phase begins, each segment's for when it is due: nothing is heard of the phase until it
// ends. As long as nobody knows how long it takes they are due when it ends.
void FollowedPlan::ask_for_segments(PhaseIndex start, std::uint32_t iteration, bool hurry, Requests& requests) {
  took_.resize(std::max<std::size_t>(took_.size(), start + 1));
  const auto expected = took_[start].value > 0 ? took_[start] : active_.predicted_time(start);
  const bool at_full_speed = hurry || requests.late();
  for (auto k = start + 1; active_.segment_offset(k) != 0; ++k) {
    transfer::TransferStart when{transfer::k_never, at_full_speed ? 1 : active_.rate_limit(k)};
    const auto moves = pointers_to(active_.asked_in(k));
    if (moves.empty()) continue;
    when.sentinel = sentinel_of(k, requests);
    if (expected.value > 0) when.fallback_due = begun_ + active_.share_of_time(start, k) * expected;
    if (when.sentinel == memory::k_no_chunk)
      when.due = when.fallback_due;
    else if (expected.value > 0)
      when.due = when.fallback_due + k_sentinel_patience * expected;
    ask(moves, iteration, requests, when);
  }
}

// The plan's segments that the program has reached. Behind the last one of a phase that goes on the plan goes back
// to the one that it knows to be like what follows.
void FollowedPlan::progressed(const Progressed& by, bool hurry, Requests& requests) {
  progress_ += by.accesses;
  if (!by.in_stride || !at_ || unheard()) return;
  for (;;) {
    const auto next = active_.segment_offset(*at_ + 1);
    if (next != 0) {
      if (progress_ < next) return;
      enter(++*at_, false, by.iteration, hurry, requests);
      continue;
    }
    const auto going_on = active_.going_on(*at_);
    if (!going_on || progress_ < going_on->after) return;
    ask_for_missing(pointers_to(active_.moves_back(*at_)), by.iteration, requests);
    progress_ -= going_on->back;
    at_ = going_on->from;
    enter(*at_, false, by.iteration, hurry, requests);
  }
}

std::string FollowedPlan::phases_not_begun(bool in_loop) const {
  const auto& plan = active_.given();
  if (has_begun_) return not_begun_.empty() ? std::string() : "plan: no phase " + names_of(not_begun_) + " began";
  if (active_.phases() == 0) return {};
  const auto what = in_loop              ? "none of its phases began, such as " + plan.phases.front()
                    : !plan.loop.empty() ? "its loop, " + plan.loop + ", did not begin"
                                         : std::string("no main loop began");
  return "plan: " + what +
         (plan.moves.empty() ? "; it only said where objects are at first" : ", so none of its moves was made");
}

// Of those that the plan has somewhere or moves: it may name others, which stay where they are without it.
std::string FollowedPlan::objects_not_met() const {
  const auto& plan = active_.given();
  std::set<std::uint32_t> wanted;
  for (std::uint32_t o = 0; o < plan.objects.size(); ++o)
    if (!plan.objects[o].parts.empty()) wanted.insert(o);
  for (const auto& move : plan.moves) wanted.insert(move.object);
  std::set<std::string, std::less<>> missing;
  for (const auto o : wanted)
    if (std::ranges::none_of(*context_->objects, [&](const observe::Object& object) {
          return is_called(plan.objects[o], object.name);
        }))
      missing.insert(plan.objects[o].name);
  return missing.empty() ? std::string() : "plan: the program had no object " + names_of(missing);
}

std::vector<std::string> FollowedPlan::unfollowed(bool in_loop) const {
  std::vector<std::string> sentences;
  for (auto sentence : {phases_not_begun(in_loop), objects_not_met()})
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  const auto& machine = active_.given().machine;
  if (!machine.empty() && machine != context_->machine->name())
    sentences.push_back("plan: it was made for the machine '" + machine + "', and this is '" +
                        context_->machine->name() + "'");
  return sentences;
}

// What has not come due by then is due now, in its order: the phase was shorter than expected.
void FollowedPlan::phase_ended(const PhaseEnded& at, Requests& requests) {
  if (at_ && unheard()) {
    took_[*at_] = context_->clock->now() - begun_;
    requests.expedite_pending();
    while (active_.segment_offset(*at_ + 1) != 0) requests.stop_waiting_for(++*at_);
    at_.reset();
  }
  if (of_another_run_ && at.iteration == 0) passed_.push_back({at.name, at.accesses});
}

}  // namespace terrace::strategy
