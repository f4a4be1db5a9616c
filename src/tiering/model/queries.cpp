// SPDX-License-Identifier: Apache-2.0
// Answers queries of a placement problem, for planners and the bound: sizes, default places, budgets, uses by
// item, benefits by object. See problem.hpp and loads.hpp.
#include <algorithm>
#include <string>

#include "core/error.hpp"
#include "core/segment_name.hpp"
#include "model/loads.hpp"
#include "model/moves.hpp"

namespace terrace::model {

std::size_t domain_count(const Problem& problem) {
  std::size_t count = problem.homes.size();
  for (const auto& place : problem.places) count = std::max<std::size_t>(count, place.domain + 1U);
  return count;
}

std::size_t cell_count(const Problem& problem) {
  std::size_t count = 0;
  for (const auto& phase : problem.phases) count += phase.cells.size();
  return count;
}

Problem concatenate_iterations(const std::vector<Problem>& iterations) {
  if (iterations.empty())
    throw Error(Code::invalid, "a sequence needs at least one iteration's problem; pass one or more");
  const auto& first = iterations.front();
  const auto sizes = [](const Problem& problem) {
    std::vector<std::uint64_t> bytes;
    for (const auto& item : problem.items) bytes.push_back(item.size.value);
    return bytes;
  };
  auto all = first;
  all.cyclic = false;
  all.phases.clear();
  for (const auto& problem : iterations) {
    if (problem.places.size() != first.places.size() || sizes(problem) != sizes(first))
      throw Error(Code::invalid,
                  "iterations in sequence must have the same items and places; make all problems of one profile");
    all.phases.insert(all.phases.end(), problem.phases.begin(), problem.phases.end());
  }
  return all;
}

const std::vector<PlaceId>& fastest_first(const Problem& problem, DomainId domain) {
  if (domain >= problem.fastest_first.size())
    throw Error(Code::invalid, "the problem does not order the places of domain " + std::to_string(domain) +
                                   "; 'fastest_first' needs a list for each domain");
  return problem.fastest_first[domain];
}

PlaceId home_of(const Problem& problem, DomainId domain) {
  if (domain >= problem.homes.size())
    throw Error(Code::invalid, "the problem has no default place of domain " + std::to_string(domain) +
                                   "; 'homes' needs a place for each domain");
  return problem.homes[domain];
}

Schedule uniform_schedule(const Problem& problem, const std::vector<PlaceId>& place_by_domain) {
  Placement placement;
  for (const auto& item : problem.items) {
    placement.push_back(item.pinned != k_no_place ? item.pinned : place_by_domain.at(item.domain));
  }
  return {std::vector<Placement>(problem.phases.size(), placement)};
}

Bytes bytes_on(const Problem& problem, const Placement& placement, PlaceId place) {
  Bytes sum;
  for (std::size_t i = 0; i < placement.size(); ++i) {
    if (placement[i] == place) sum += problem.items[i].size;
  }
  return sum;
}

bool within_budget(const Problem& problem, const Schedule& schedule) {
  std::vector<std::uint64_t> sums(problem.places.size());
  for (const auto& placement : schedule.phases) {
    std::fill(sums.begin(), sums.end(), 0);
    for (std::size_t i = 0; i < placement.size(); ++i) sums[placement[i]] += problem.items[i].size.value;
    for (std::size_t p = 0; p < sums.size(); ++p) {
      if (sums[p] > problem.places[p].budget.value) return false;
    }
  }
  return true;
}

std::vector<Bytes> unpinned_budget(const Problem& problem) {
  std::vector<Bytes> room;
  for (const auto& place : problem.places) room.push_back(place.budget);
  for (const auto& item : problem.items)
    if (item.pinned != k_no_place) room[item.pinned] -= std::min(room[item.pinned], item.size);
  return room;
}

Uses uses_by_item(const Problem& problem) {
  Uses uses(problem.items.size());
  for (std::size_t k = 0; k < problem.phases.size(); ++k) {
    for (const auto& cell : problem.phases[k].cells) {
      uses[cell.item].push_back({static_cast<std::uint32_t>(k), &cell});
    }
  }
  return uses;
}

std::vector<double> object_benefits(const Problem& problem) {
  std::vector<PlaceId> fastest;
  Placement home;
  for (std::size_t d = 0; d < domain_count(problem); ++d) {
    const auto& places = fastest_first(problem, static_cast<DomainId>(d));
    fastest.push_back(places.empty() ? k_no_place : places.front());
  }
  for (const auto& item : problem.items)
    home.push_back(item.pinned != k_no_place ? item.pinned : home_of(problem, item.domain));

  std::vector<double> benefits(problem.objects.size(), 0);
  std::vector<std::vector<const ItemCell*>> cells(problem.objects.size());
  for (std::size_t k = 0; k < problem.phases.size(); ++k) {
    const auto at_home = load_of(problem, k, home);
    for (const auto& cell : problem.phases[k].cells) cells[problem.items[cell.item].object].push_back(&cell);
    for (std::size_t o = 0; o < cells.size(); ++o) {
      if (cells[o].empty()) continue;
      auto load = at_home;
      for (const auto* cell : cells[o]) {
        const auto& item = problem.items[cell->item];
        if (item.pinned != k_no_place) continue;
        load.take(*cell, home[cell->item]);
        load.put(*cell, fastest[item.domain]);
      }
      benefits[o] += at_home.time() - load.time();
      cells[o].clear();
    }
  }
  return benefits;
}

ProblemIndex::ProblemIndex(const Problem& problem)
    : problem_(&problem),
      uses_(uses_by_item(problem)),
      touched_(problem.items.size() * problem.phases.size(), 0),
      rank_(speed_ranks(problem)) {
  for (std::size_t i = 0; i < uses_.size(); ++i)
    for (const auto& use : uses_[i]) touched_[i * problem.phases.size() + use.phase] = 1;
  for (std::size_t d = 0; d < domain_count(problem); ++d)
    homes_.push_back(home_of(problem, static_cast<DomainId>(d)));
  for (const auto& phase : problem.phases) segment_.push_back(segment_offset(phase.name) != 0);
}

}  // namespace terrace::model
