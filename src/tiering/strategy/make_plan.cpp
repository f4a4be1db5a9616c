// SPDX-License-Identifier: Apache-2.0
// Converts a planner's decision, in items and places by number, into a plan in names (planner.hpp), for `terrace
// plan` and for plans that are made while the program runs.
#include <algorithm>
#include <map>
#include <set>

#include "core/error.hpp"
#include "core/segment_name.hpp"
#include "model/loads.hpp"
#include "model/lower_bound.hpp"
#include "model/moves.hpp"
#include "model/repeats.hpp"
#include "observe/progress_variant.hpp"
#include "strategy/planner.hpp"
#include "strategy/static_decision.hpp"

namespace terrace::strategy {
namespace {

// Names places in a plan: by the kind if each domain has at most one place of it, else by the place's own name.
class PlaceNames {
 public:
  explicit PlaceNames(const model::Problem& problem) : problem_(problem) {
    for (const auto& place : problem.places) ++places_of_[{place.domain, place.kind}];
  }
  [[nodiscard]] const std::string& name(PlaceId id) const {
    const auto& place = problem_.places[id];
    return by_kind(place.kind) ? place.kind : place.name;
  }
  // Returns whether each domain has at most one place of the kind.
  [[nodiscard]] bool by_kind(const std::string& kind) const {
    return std::all_of(places_of_.begin(), places_of_.end(),
                       [&](const auto& entry) { return entry.first.second != kind || entry.second == 1; });
  }

 private:
  const model::Problem& problem_;
  std::map<std::pair<DomainId, std::string>, int> places_of_;
};

// Returns the budget as "NAME=SIZE", one entry per kind if all its places have the same budget.
std::vector<std::string> budget_words(const model::Problem& problem, const PlaceNames& names) {
  std::vector<std::string> words;
  for (std::size_t p = 0; p < problem.places.size(); ++p) {
    const auto& place = problem.places[p];
    if (home_of(problem, place.domain) == p) continue;
    const bool shared = names.by_kind(place.kind) &&
                        std::all_of(problem.places.begin(), problem.places.end(), [&](const auto& other) {
                          return other.kind != place.kind || other.budget == place.budget;
                        });
    auto word = (shared ? place.kind : place.name) + "=" + format_exact(place.budget);
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(std::move(word));
  }
  return words;
}

// Returns how much longer an iteration would take if the item, which never moves, was at home.
Seconds benefit_of_staying(const model::Problem& problem, std::uint32_t item, PlaceId place,
                           const std::vector<model::Use>& uses, const std::vector<model::PhaseLoad>& loads) {
  Seconds benefit;
  for (const auto& use : uses) {
    const auto& load = loads[use.phase];
    benefit +=
        Seconds{load.time_if_moved(*use.cell, place, home_of(problem, problem.items[item].domain)) - load.time()};
  }
  return benefit;
}

// Returns the load of every phase under the schedule.
std::vector<model::PhaseLoad> loads_of(const model::Problem& problem, const model::Schedule& schedule) {
  std::vector<model::PhaseLoad> loads;
  for (std::size_t k = 0; k < problem.phases.size(); ++k)
    loads.push_back(model::load_of(problem, k, schedule.phases[k]));
  return loads;
}

void add_objects(Plan& plan, const model::ProblemIndex& index, const std::vector<model::PhaseLoad>& loads,
                 const model::Placement& initial, const model::MoveList& list, const PlaceNames& names) {
  const auto& problem = index.problem();
  std::vector<bool> moves(problem.items.size(), false);
  for (const auto& move : list.moves) moves[move.item] = true;
  for (const auto& object : problem.objects)
    plan.objects.push_back({object.name, object.size, object.chunks, true, {}});
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    const auto& item = problem.items[i];
    auto& object = plan.objects[item.object];
    object.pinned = object.pinned && item.pinned != k_no_place;
    if (initial[i] == home_of(problem, item.domain)) continue;
    const auto& name = names.name(initial[i]);
    const auto number = static_cast<std::uint32_t>(i);
    const auto benefit =
        moves[i] ? Seconds{} : benefit_of_staying(problem, number, initial[i], index.uses(number), loads);
    auto& parts = object.parts;
    if (!parts.empty() && parts.back().place == name &&
        parts.back().chunks.first + parts.back().chunks.count == item.ordinal) {
      parts.back().chunks.count += item.chunks;
      parts.back().benefit += benefit;
    } else {
      parts.push_back({{item.ordinal, item.chunks}, name, benefit});
    }
  }
}

// Returns how much longer the phases from this move to the item's next one would take without it.
Seconds benefit_of(const model::Problem& problem, const model::Schedule& schedule, const model::Move& move,
                   const std::vector<model::Use>& uses, const std::vector<model::PhaseLoad>& loads) {
  const auto phases = schedule.phases.size();
  std::size_t until = 1;
  while (until < phases && schedule.phases[(move.change + until) % phases][move.item] == move.to) ++until;
  if (!problem.cyclic) until = std::min(until, phases - move.change);
  Seconds benefit;
  for (const auto& use : uses) {
    const auto after = (use.phase + phases - move.change) % phases;
    if (after >= until) continue;
    const auto& load = loads[use.phase];
    benefit +=
        Seconds{load.time_if_moved(*use.cell, schedule.phases[use.phase][move.item], move.from) - load.time()};
  }
  return benefit;
}

void add_moves(Plan& plan, const model::ProblemIndex& index, const std::vector<model::PhaseLoad>& loads,
               const Decision& decision, const model::MoveList& list, const PlaceNames& names) {
  if (list.moves.empty()) return;
  const auto& problem = index.problem();
  std::vector<double> lost;
  model::predict(index, decision.schedule, list, &lost);
  const auto phases = static_cast<std::uint32_t>(problem.phases.size());
  for (std::size_t m = 0; m < list.moves.size(); ++m) {
    const auto& move = list.moves[m];
    const auto& item = problem.items[move.item];
    const auto benefit = benefit_of(problem, decision.schedule, move, index.uses(move.item), loads);
    const auto need = move.awaited ? move.need : move.ask + phases;
    if (!plan.moves.empty()) {
      auto& last = plan.moves.back();
      if (last.object == item.object && last.to == names.name(move.to) && last.ask == move.ask &&
          last.need == need && last.awaited == move.awaited &&
          last.chunks.first + last.chunks.count == item.ordinal) {
        last.chunks.count += item.chunks;
        last.benefit += benefit;
        last.cost += Seconds{lost[m]};
        continue;
      }
    }
    plan.moves.push_back({item.object,
                          {item.ordinal, item.chunks},
                          names.name(move.to),
                          move.ask,
                          need,
                          move.awaited,
                          benefit,
                          Seconds{lost[m]}});
  }
}

// Adds the predicted times of phases that have segments.
void add_times(Plan& plan, const model::Prediction& prediction) {
  const auto phases = plan.phases.size();
  if (prediction.phases.size() != phases) return;
  bool any = false;
  for (std::size_t k = 0; k < phases; ++k) {
    const bool cut =
        segment_offset(plan.phases[k]) != 0 || (k + 1 < phases && segment_offset(plan.phases[k + 1]) != 0);
    plan.times.push_back(Seconds{cut ? prediction.phases[k].total - prediction.phases[k].waiting : 0});
    any = any || cut;
  }
  if (!any) plan.times.clear();
}

// Adds a sentinel for each segment that requests moves: the first chunk of the item with most traffic among those
// that no earlier segment of the phase touches.
void add_sentinels(Plan& plan, const model::Problem& problem) {
  std::set<std::uint32_t> asking, before;
  for (const auto& move : plan.moves) asking.insert(move.ask);
  for (std::uint32_t k = 0; k < problem.phases.size(); ++k) {
    if (segment_offset(plan.phases[k]) == 0) before.clear();
    const model::ItemCell* most = nullptr;
    const auto bytes = [](const model::ItemCell& cell) { return cell.read_bytes + cell.write_bytes; };
    for (const auto& cell : problem.phases[k].cells)
      if (before.insert(cell.item).second && (!most || bytes(cell) > bytes(*most))) most = &cell;
    if (!most || segment_offset(plan.phases[k]) == 0 || !asking.contains(k)) continue;
    const auto& item = problem.items[most->item];
    plan.sentinels.push_back({k, item.object, item.ordinal});
  }
}

double bound_of(const model::Problem& problem, Seconds predicted) {
  return model::lower_bound(problem, predicted.value, {.passes = model::affordable_passes(problem)}).seconds;
}

}  // namespace

profile::Profile profile_for_progress(const profile::Profile& profile, const std::string& progress) {
  const auto& wanted = observe::find_progress(progress);
  const auto& known = observe::find_progress(profile.progress);
  if (wanted.unit() != known.unit())
    throw Error(Code::invalid, "--progress " + progress + ": the profile counts " + std::string(known.unit()) +
                                   ", and that needs " + std::string(wanted.unit()) + ": record with --progress " +
                                   progress);
  auto copy = profile;
  copy.progress = progress;
  return copy;
}

Plan make_plan(const model::Problem& problem, const Decision& decision, std::string_view planner_name) {
  const PlaceNames names(problem);
  Plan plan;
  plan.planner = planner_name;
  plan.machine = problem.machine;
  plan.loop = problem.loop;
  plan.progress = problem.progress;
  plan.budget = budget_words(problem, names);
  for (const auto& phase : problem.phases) plan.phases.push_back(phase.name);
  add_times(plan, decision.prediction);
  const auto list = model::derive_moves(problem, decision.schedule);
  const model::ProblemIndex index(problem);
  const auto loads = loads_of(problem, decision.schedule);
  add_objects(plan, index, loads, model::initial_placement(decision.schedule, list), list, names);
  add_moves(plan, index, loads, decision, list, names);
  add_sentinels(plan, problem);
  if (!plan.moves.empty()) plan.repeats = model::find_repeats(problem);
  plan.rate_limits = model::rate_limits(problem, decision.schedule, loads, list);
  plan.predicted = decision.prediction.total;
  plan.predicted_slow = static_decision(problem, home_placement(problem)).prediction.total;
  plan.predicted_before = static_decision(problem, problem.measured_at).prediction.total;
  plan.lower_bound = Seconds{decision.lower_bound > 0 ? decision.lower_bound : bound_of(problem, plan.predicted)};
  plan.gap = decision.gap;
  return plan;
}

}  // namespace terrace::strategy
