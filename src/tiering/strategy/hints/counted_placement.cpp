// SPDX-License-Identifier: Apache-2.0
// Places a program's objects by reference counts that hints state, at allocation and when the first loop begins,
// for LearningStrategy. See counted_placement.hpp.
#include "strategy/hints/counted_placement.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>

#include "model/costs.hpp"
#include "strategy/hints/initial_moves.hpp"

namespace terrace::strategy {

namespace {

constexpr std::size_t k_max_named = 20;  // max objects named in a note

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", value);
  return text;
}

// Returns "4MiB in hbm and 2MiB in ddr"; the home place only if it has the whole object.
std::string places_in_words(const observe::Object& object, const Context& context) {
  std::string places;
  for (const auto place : context.places()) {
    std::uint64_t size = 0;
    for (auto chunk = object.first_chunk; chunk < object.first_chunk + object.chunks; ++chunk)
      if ((*context.chunks)[chunk].place.load(std::memory_order_relaxed) == place)
        size += (*context.chunks)[chunk].size;
    if (size > 0 && (place != context.home() || places.empty()))
      places +=
          (places.empty() ? "" : " and ") + format(Bytes{size}) + " in " + context.machine->place(place).name;
  }
  return places;
}

}  // namespace

Expression::Outcome CountedPlacement::references(const ReferenceCount& count) const {
  const auto bytes = [&](const std::string& name) -> std::optional<double> {
    double sum = 0;
    bool any = false;
    for (const auto& object : *context_.objects) {
      if (!object.live || !model::matches_name(name, object.name)) continue;
      sum += static_cast<double>(object.size.value);
      any = true;
    }
    return any ? std::optional(sum) : std::nullopt;
  };
  auto outcome =
      count.references.evaluate({[&](const std::string& name) { return context_.hints->value(name); }, bytes});
  if (outcome.problem.empty() && outcome.value < 0) outcome.problem = "it is negative, " + number(outcome.value);
  return outcome;
}

// Allocates objects with references in the fastest memory with free space, as far as it reaches. Objects without
// known references are allocated at home, where they take no space from the others. place() corrects the effects
// of the allocation order when the loop begins.
PlacementExtent CountedPlacement::initial_placement(const observe::Object& object, std::uint32_t left) const {
  const auto* const count = context_.hints->count_of(object.name);
  const auto outcome = count ? references(*count) : Expression::Outcome{};
  if (outcome.problem.empty() && outcome.value > 0) {
    for (const auto place : context_.places()) {
      const auto room = context_.ledger->available(place).value / object.chunk_size.value;
      if (place == context_.home()) break;
      if (room > 0) return {place, static_cast<std::uint32_t>(std::min<std::uint64_t>(room, left))};
    }
  }
  return {context_.home(), left};
}

void CountedPlacement::place(Requests& requests) const {
  InitialMovePlanner initial_moves(context_);
  std::vector<std::pair<double, const observe::Object*>> counted;
  std::set<std::string> unknown;
  for (const auto& object : *context_.objects) {
    if (!object.live) continue;
    const auto* const count = context_.hints->count_of(object.name);
    const auto outcome = count ? references(*count) : Expression::Outcome{};
    if (count && !outcome.problem.empty() && unknown.insert(count->object).second)
      requests.note("warning", "hints: the references of '" + count->object + "', " + count->references.text() +
                                   ", are not known: " + outcome.problem +
                                   "; it takes no part in the initial placement");
    if (count && outcome.problem.empty()) {
      initial_moves.add(object, outcome.value);
      counted.emplace_back(outcome.value, &object);
    } else {
      initial_moves.add_uncounted(object);
    }
  }
  if (counted.empty()) return;
  context_.clock->charge(static_cast<double>(initial_moves.chunks()) * model::k_plan_cost);
  auto moves = initial_moves.moves();
  std::vector<ActiveMove*> each;
  each.reserve(moves.size());
  for (auto& move : moves) each.push_back(&move);
  requests.request_moves(each, 0);
  requests.wait_for_all();
  note_placement(std::move(counted), requests);
}

void CountedPlacement::note_placement(std::vector<std::pair<double, const observe::Object*>> counted,
                                      Requests& requests) const {
  std::stable_sort(counted.begin(), counted.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = "initial placement by reference counts:";
  for (std::size_t i = 0; i < std::min(counted.size(), k_max_named); ++i) {
    const auto& [references, object] = counted[i];
    text += (i == 0 ? " '" : "; '") + object->name + "' " + number(references) + ", " +
            places_in_words(*object, context_);
  }
  if (counted.size() > k_max_named) text += "; and " + std::to_string(counted.size() - k_max_named) + " more";
  requests.note("note", text);
}

}  // namespace terrace::strategy
