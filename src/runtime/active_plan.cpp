// Names to chunks. See active_plan.hpp.
#include "runtime/active_plan.hpp"

#include <fnmatch.h>

#include <algorithm>

#include "base/error.hpp"

namespace terrace::runtime {

namespace {

// The plan counts `of` equal parts, the program has `chunks`: part boundaries go to the nearest chunk boundary, so
// that neighbouring spans neither overlap nor leave a gap.
std::uint32_t scaled(std::uint32_t part, std::uint32_t of, std::uint32_t chunks) {
  return static_cast<std::uint32_t>((std::uint64_t{part} * chunks + of / 2) / std::max(of, 1U));
}

struct ChunkSpan {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

ChunkSpan chunks_of(placement::Span span, const placement::PlanObject& planned, const profile::Object& object) {
  return {scaled(span.first, planned.chunks, object.chunks),
          scaled(span.first + span.count, planned.chunks, object.chunks)};
}

}  // namespace

ActivePlan::ActivePlan(placement::Plan plan, const machine::Machine& machine, machine::DomainId domain)
    : plan_(std::move(plan)), of_plan_move_(plan_.moves.size()) {
  for (const auto& place : machine.places()) {
    place_names_.push_back(place.name);
    kind_names_.push_back(place.domain == domain ? place.kind : std::string());
  }
  for (const auto& object : plan_.objects)
    for (const auto& part : object.parts) resolve(part.place);
  for (const auto& move : plan_.moves) resolve(move.to);
}

machine::PlaceId ActivePlan::resolve(const std::string& place) const {
  for (const auto* names : {&place_names_, &kind_names_}) {
    const auto found = std::find(names->begin(), names->end(), place);
    if (found != names->end()) return static_cast<machine::PlaceId>(found - names->begin());
  }
  throw Error(Code::invalid, "the plan names '" + place + "', which is neither a place nor a kind of this machine");
}

const placement::PlanObject* ActivePlan::find(std::string_view name) const {
  const auto same = [&](const placement::PlanObject& object) { return object.name == name; };
  const auto exact = std::find_if(plan_.objects.begin(), plan_.objects.end(), same);
  if (exact != plan_.objects.end()) return &*exact;
  const std::string text(name);
  const auto matches = [&](const placement::PlanObject& object) {
    return fnmatch(object.name.c_str(), text.c_str(), 0) == 0;
  };
  const auto pattern = std::find_if(plan_.objects.begin(), plan_.objects.end(), matches);
  return pattern == plan_.objects.end() ? nullptr : &*pattern;
}

machine::PlaceId ActivePlan::initial_place(const profile::Object& object, std::uint32_t ordinal) const {
  const auto* planned = find(object.name);
  if (!planned) return machine::k_no_place;
  for (const auto& part : planned->parts) {
    const auto span = chunks_of(part.chunks, *planned, object);
    if (ordinal >= span.begin && ordinal < span.end) return resolve(part.place);
  }
  return machine::k_no_place;
}

void ActivePlan::bind(const profile::Object& object) {
  const auto* planned = find(object.name);
  if (!planned || planned->pinned) return;
  const auto index = static_cast<std::uint32_t>(planned - plan_.objects.data());
  for (std::size_t i = 0; i < plan_.moves.size(); ++i) {
    const auto& move = plan_.moves[i];
    if (move.object != index) continue;
    const auto span = chunks_of(move.chunks, *planned, object);
    const auto count = std::max(span.end - span.begin, 1U);
    for (auto ordinal = span.begin; ordinal < span.end; ++ordinal) {
      of_plan_move_[i].push_back(moves_.size());
      moves_.push_back({object.first_chunk + ordinal, object.id, ordinal, resolve(move.to), move.ask, move.need,
                        move.awaited, move.benefit / count, move.cost / count});
    }
  }
}

std::vector<ActiveMove> ActivePlan::to_initial(const profile::Object& object, const memory::ChunkTable& chunks,
                                               machine::PlaceId home) const {
  std::vector<ActiveMove> moves;
  for (std::uint32_t ordinal = 0; ordinal < object.chunks; ++ordinal) {
    const auto chunk = object.first_chunk + ordinal;
    const auto wanted = initial_place(object, ordinal);
    const auto to = wanted == machine::k_no_place ? home : wanted;
    if (chunks[chunk].place.load(std::memory_order_relaxed) != to)
      moves.push_back({chunk, object.id, ordinal, to, 0, 0, false, {}, {}});
  }
  return moves;
}

bool ActivePlan::expects(profile::PhaseIndex index, std::string_view name) const {
  if (plan_.moves.empty()) return true;
  return index < plan_.phases.size() && plan_.phases[index] == name;
}

std::vector<std::size_t> ActivePlan::asked_in(profile::PhaseIndex index) const {
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < plan_.moves.size(); ++i)
    if (plan_.moves[i].ask == index) asked.insert(asked.end(), of_plan_move_[i].begin(), of_plan_move_[i].end());
  return asked;
}

std::size_t ActivePlan::add(const ActiveMove& move) {
  moves_.push_back(move);
  return moves_.size() - 1;
}

}  // namespace terrace::runtime
