// SPDX-License-Identifier: Apache-2.0
// Ranks objects by worth per byte and places them whole, for planners of published systems such as ecohmem. See
// whole_objects.hpp.
#include "strategy/search/whole_objects.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "strategy/static_decision.hpp"

namespace terrace::strategy {

namespace {

struct Structure {
  DomainId domain = 0;
  std::vector<std::uint32_t> items;
  Bytes size;
  double worth = 0;

  [[nodiscard]] double density() const { return worth / static_cast<double>(size.value); }
};

// Returns the unpinned objects with worth, by domain, the densest first.
std::vector<Structure> densest_first(const model::Problem& problem, const std::vector<double>& worth) {
  std::map<std::pair<std::uint32_t, DomainId>, Structure> by_object;
  for (std::uint32_t i = 0; i < problem.items.size(); ++i) {
    const auto& item = problem.items[i];
    if (item.pinned != k_no_place) continue;
    auto& structure = by_object[{item.object, item.domain}];
    structure.domain = item.domain;
    structure.items.push_back(i);
    structure.size += item.size;
    structure.worth += worth[i];
  }
  std::vector<Structure> structures;
  for (auto& [object, structure] : by_object)
    if (structure.worth > 0) structures.push_back(std::move(structure));
  std::stable_sort(structures.begin(), structures.end(),
                   [](const auto& a, const auto& b) { return a.density() > b.density(); });
  return structures;
}

}  // namespace

model::Placement place_whole_objects(const model::Problem& problem, const std::vector<double>& worth) {
  auto placement = home_placement(problem);
  auto room = model::unpinned_budget(problem);
  for (const auto& structure : densest_first(problem, worth)) {
    for (const auto place : model::fastest_first(problem, structure.domain)) {
      if (place == model::home_of(problem, structure.domain)) break;
      if (room[place] < structure.size) continue;
      room[place] -= structure.size;
      for (const auto item : structure.items) placement[item] = place;
      break;
    }
  }
  return placement;
}

}  // namespace terrace::strategy
