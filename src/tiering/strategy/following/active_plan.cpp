// SPDX-License-Identifier: Apache-2.0
// Binds a plan's objects, places and moves to the chunks of the running program, for PlanExecutor. See
// active_plan.hpp.
#include "strategy/following/active_plan.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "core/segment_name.hpp"

namespace terrace::strategy {

ActivePlan::ActivePlan(Plan plan, const machine::Machine& machine, DomainId domain)
    : plan_(std::move(plan)), machine_(&machine), domain_(domain), moves_by_phase_(plan_.phases.size()) {
  for (const auto& name : plan_.phases) {
    offsets_.push_back(terrace::segment_offset(name));
    if (offsets_.back() == 0) starts_.push_back(static_cast<PhaseIndex>(offsets_.size() - 1));
  }
  planned_offsets_ = offsets_;
}

void ActivePlan::bind(const observe::Object& object) {
  const auto expanded =
      expand_object(plan_, *machine_, {object.name, object.size, object.chunks, domain_}, object.id, notes_);
  if (initial_.size() <= object.id) {
    initial_.resize(object.id + 1);
    worth_.resize(object.id + 1);
    known_.resize(object.id + 1);
  }
  initial_[object.id] = expanded.initial;
  worth_[object.id] = expanded.worth;
  known_[object.id] = expanded.is_planned;
  scaled_ = scaled_ || expanded.scaled;
  if (const auto known = find_object(plan_, object.name); known < plan_.objects.size()) {
    planned_size_ += plan_.objects[known].size;
    size_ += object.size;
    sentinels_.resize(plan_.phases.size(), memory::k_no_chunk);
    for (const auto& sentinel : plan_.sentinels)
      if (sentinel.object == known)
        sentinels_[sentinel.segment] =
            object.first_chunk + static_cast<ChunkId>(std::uint64_t{sentinel.chunk} * object.chunks /
                                                      std::max(plan_.objects[known].chunks, 1U));
  }
  rewind_moves_.clear();
  for (auto move : expanded.moves) {
    remap_phases(move);
    if (move.ask >= moves_by_phase_.size()) moves_by_phase_.resize(move.ask + 1);
    moves_by_phase_[move.ask].push_back({move, object.first_chunk + move.chunk, object.id});
    sorted_ = false;
  }
}

namespace {

PlaceId place_in(const ActivePlan::Places& places, const observe::Object& object, std::uint32_t ordinal) {
  if (object.id >= places.size() || ordinal >= places[object.id].size()) return k_no_place;
  return places[object.id][ordinal];
}

}  // namespace

PlaceId ActivePlan::initial_place(const observe::Object& object, std::uint32_t ordinal) const {
  return place_in(initial_, object, ordinal);
}

ActivePlan::Places ActivePlan::places_before(PhaseIndex phase) {
  auto places = initial_;
  for (PhaseIndex earlier = 0; earlier < phase; ++earlier)
    for (const auto& move : moves_of_phase(earlier)) places[move.object][move.planned.chunk] = move.planned.to;
  return places;
}

std::vector<ActiveMove> ActivePlan::moves_to(const Places& places, const observe::Object& object,
                                             const std::function<PlaceId(ChunkId)>& current_place, PlaceId home) {
  std::vector<ActiveMove> moves;
  for (std::uint32_t ordinal = 0; ordinal < object.chunks; ++ordinal) {
    const auto chunk = object.first_chunk + ordinal;
    const auto wanted = place_in(places, object, ordinal);
    ChunkMove planned;
    planned.object = object.id;
    planned.chunk = ordinal;
    planned.to = wanted == k_no_place ? home : wanted;
    planned.awaited = false;
    if (current_place(chunk) != planned.to) moves.push_back({planned, chunk, object.id});
  }
  return moves;
}

std::optional<PhaseIndex> ActivePlan::find_phase(PhaseIndex index, std::string_view name) const {
  if (plan_.phases.empty())
    return index;  // a plan without phases, written by hand, has no moves and fits any phase
  if (!executed_.empty())
    return index < executed_.size() && executed_[index] == name ? planned_phase_of_[index] : std::nullopt;
  if (index >= starts_.size() || plan_.phases[starts_[index]] != name) return std::nullopt;
  return starts_[index];
}

bool ActivePlan::expects(PhaseIndex index, std::string_view name) const {
  if (!executed_.empty()) return index < executed_.size() && executed_[index] == name;
  return find_phase(index, name).has_value();
}

Seconds ActivePlan::predicted_time(PhaseIndex start) const {
  const auto time = time_of_phase(plan_, start);
  if (!scaled_ || planned_size_.value == 0) return time;
  return static_cast<double>(size_.value) / static_cast<double>(planned_size_.value) * time;
}

std::span<ActiveMove> ActivePlan::moves_of_phase(PhaseIndex index) {
  if (!std::exchange(sorted_, true))
    for (auto& asks : moves_by_phase_)
      std::stable_sort(asks.begin(), asks.end(),
                       [](const ActiveMove& a, const ActiveMove& b) { return a.planned.order < b.planned.order; });
  return index < moves_by_phase_.size() ? std::span(moves_by_phase_[index]) : std::span<ActiveMove>();
}

const Repeat* ActivePlan::repeat_of(PhaseIndex last) const {
  const auto found = std::ranges::find(plan_.repeats, last, &Repeat::last);
  return found != plan_.repeats.end() ? &*found : nullptr;
}

// The last segment ends with the phase and is short. Half the length of another segment after it suffices to
// detect that the phase continues. With objects of other sizes the last segment counts as long as the others, and
// lengths are unknown until an iteration has passed.
std::optional<ActivePlan::Continuation> ActivePlan::continuation(PhaseIndex last) const {
  const auto* repeat = repeat_of(last);
  if (!repeat || (scaled_ && executed_.empty())) return std::nullopt;
  const auto back = segment_offset(last) - segment_offset(repeat->from);
  const auto segment = back / (last - repeat->from);
  return Continuation{repeat->from, segment_offset(last) + segment / 2 + (executed_.empty() ? 0 : segment), back};
}

std::span<ActiveMove> ActivePlan::rewind_moves(PhaseIndex last) {
  const auto* repeat = repeat_of(last);
  if (!repeat) return {};
  const auto [found, is_new] = rewind_moves_.try_emplace(last);
  if (!is_new) return found->second;
  const auto places = places_before(repeat->from);
  std::set<ChunkId> known;
  for (auto k = repeat->from; k <= last; ++k)
    for (auto move : moves_of_phase(k)) {
      if (!known.insert(move.chunk).second) continue;
      move.planned.to = places[move.object][move.planned.chunk];
      move.planned.awaited = false;
      move.planned.benefit = move.planned.cost = Seconds{};
      move.name = ActiveMove::k_not_named;
      found->second.push_back(move);
    }
  return found->second;
}

std::vector<std::string> ActivePlan::take_notes() { return std::exchange(notes_, {}); }

}  // namespace terrace::strategy
