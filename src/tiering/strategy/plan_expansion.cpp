// SPDX-License-Identifier: Apache-2.0
// Resolves the names of objects, places and chunks in a plan against the running program, for the classes that
// follow a plan. See plan_expansion.hpp.
#include "strategy/plan_expansion.hpp"

#include <fnmatch.h>

#include <algorithm>

namespace terrace::strategy {
namespace {

// Returns the place that a plan's name of a place or kind means in `domain`, or k_no_place.
PlaceId resolve(const machine::Machine& machine, DomainId domain, const std::string& word) {
  if (const auto place = machine.find_place(word); place && machine.place(*place).domain == domain) return *place;
  return machine.find_kind(domain, word).value_or(k_no_place);
}

// Returns whether the middle of a running chunk is in a span that counts in `parts` chunks.
bool covers(const Span& span, std::uint32_t parts, std::uint32_t chunk, std::uint32_t chunks) {
  const auto part = (2 * std::uint64_t{chunk} + 1) * parts / (2 * std::uint64_t{chunks});
  return part >= span.first && part < std::uint64_t{span.first} + span.count;
}

bool is_pattern(const std::string& name) { return name.find_first_of("*?[") != std::string::npos; }

std::string no_such_place(const std::string& word, std::string_view object, const machine::Machine& machine) {
  return "plan: '" + std::string(object) + "' should lie in '" + word + "', which machine '" + machine.name() +
         "' does not have in that domain; it stays where it is";
}

}  // namespace

bool matches_name(const PlanObject& planned, std::string_view name) {
  if (planned.name == name) return true;
  return is_pattern(planned.name) && fnmatch(planned.name.c_str(), std::string(name).c_str(), 0) == 0;
}

std::size_t find_object(const Plan& plan, std::string_view name) {
  for (std::size_t i = 0; i < plan.objects.size(); ++i) {
    if (plan.objects[i].name == name) return i;
  }
  for (std::size_t i = 0; i < plan.objects.size(); ++i) {
    if (matches_name(plan.objects[i], name)) return i;
  }
  return plan.objects.size();
}

ExpandedObject expand_object(const Plan& plan, const machine::Machine& machine, const RunningObject& object,
                             std::uint32_t index, std::vector<std::string>& notes) {
  ExpandedObject expanded;
  expanded.initial.assign(object.chunks, machine.home(object.domain));
  expanded.worth.assign(object.chunks, {});
  const auto known = find_object(plan, object.name);
  if (known == plan.objects.size()) return expanded;
  const auto& planned = plan.objects[known];
  expanded.is_planned = true;
  expanded.pinned = planned.pinned;
  const auto parts = std::max(planned.chunks, 1U);
  expanded.scaled = planned.size.value > 0 && planned.size != object.size;
  if (expanded.scaled) {
    notes.push_back("plan: '" + std::string(object.name) + "' was planned with " + format(planned.size) +
                    " and has " + format(object.size) + "; its parts are scaled");
  }
  for (const auto& part : planned.parts) {
    const auto place = resolve(machine, object.domain, part.place);
    if (place == k_no_place) {
      notes.push_back(no_such_place(part.place, object.name, machine));
      continue;
    }
    std::vector<std::uint32_t> covered;
    for (std::uint32_t c = 0; c < object.chunks; ++c) {
      if (covers(part.chunks, parts, c, object.chunks)) covered.push_back(c);
    }
    for (const auto c : covered) {
      expanded.initial[c] = place;
      expanded.worth[c] += part.benefit / static_cast<double>(covered.size());
    }
  }
  if (planned.pinned) return expanded;
  for (std::uint32_t m = 0; m < plan.moves.size(); ++m) {
    const auto& move = plan.moves[m];
    if (move.object != known) continue;
    const auto to = resolve(machine, object.domain, move.to);
    if (to == k_no_place) {
      notes.push_back(no_such_place(move.to, object.name, machine));
      continue;
    }
    const auto before = expanded.moves.size();
    for (std::uint32_t c = 0; c < object.chunks; ++c) {
      if (!covers(move.chunks, parts, c, object.chunks)) continue;
      expanded.moves.push_back({index, c, to, move.ask, move.need, move.awaited, m, {}, {}});
    }
    const auto chunks = static_cast<double>(expanded.moves.size() - before);
    for (auto i = before; i < expanded.moves.size(); ++i) {
      expanded.moves[i].benefit = move.benefit / chunks;
      expanded.moves[i].cost = move.cost / chunks;
      expanded.worth[expanded.moves[i].chunk] += expanded.moves[i].benefit;
    }
  }
  return expanded;
}

ExpandedPlan expand_plan(const Plan& plan, const machine::Machine& machine,
                         const std::vector<RunningObject>& objects) {
  ExpandedPlan expanded;
  std::vector<bool> met(plan.objects.size(), false);
  for (std::uint32_t i = 0; i < objects.size(); ++i) {
    expanded.objects.push_back(expand_object(plan, machine, objects[i], i, expanded.notes));
    const auto known = find_object(plan, objects[i].name);
    if (known < met.size()) met[known] = true;
    const auto& moves = expanded.objects.back().moves;
    expanded.moves.insert(expanded.moves.end(), moves.begin(), moves.end());
  }
  std::stable_sort(expanded.moves.begin(), expanded.moves.end(), [](const ChunkMove& a, const ChunkMove& b) {
    return a.ask != b.ask ? a.ask < b.ask : a.order < b.order;
  });
  for (std::size_t i = 0; i < met.size(); ++i) {
    if (!met[i]) expanded.notes.push_back("plan: the program has no object '" + plan.objects[i].name + "'");
  }
  return expanded;
}

}  // namespace terrace::strategy
