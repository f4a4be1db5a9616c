// SPDX-License-Identifier: Apache-2.0
// Chooses the place of each item by a knapsack for each domain, for Unimem's planners and the static planner. See
// choose.hpp.
#include "strategy/search/choose.hpp"

#include <algorithm>

namespace terrace::strategy {

PlacementChoice choose_places(const model::Problem& problem, const std::vector<std::uint32_t>& items,
                              const std::vector<std::vector<double>>& values, const std::vector<Bytes>& budgets,
                              std::size_t max_states) {
  PlacementChoice choice;
  choice.places.resize(items.size(), k_no_place);
  for (std::size_t d = 0; d < model::domain_count(problem); ++d) {
    const auto& places = model::fastest_first(problem, static_cast<DomainId>(d));
    Knapsack knapsack;
    for (const auto place : places) knapsack.capacity.push_back(budgets[place].value);
    std::vector<std::size_t> entries;
    for (std::size_t n = 0; n < items.size(); ++n) {
      const auto& item = problem.items[items[n]];
      if (item.domain != d) continue;
      entries.push_back(n);
      KnapsackItem entry{item.size.value, {}};
      for (const auto place : places) {
        const bool allowed = item.pinned == k_no_place || item.pinned == place;
        entry.value.push_back(allowed ? values[n][place] : k_not_allowed);
      }
      knapsack.items.push_back(std::move(entry));
    }
    if (entries.empty()) continue;
    const auto answer = solve(knapsack, max_states);
    for (std::size_t e = 0; e < entries.size(); ++e) choice.places[entries[e]] = places[answer.bin[e]];
    choice.value += answer.value;
    choice.gap += answer.gap();
    choice.feasible = choice.feasible && answer.feasible;
  }
  return choice;
}

std::vector<Bytes> budgets_of(const model::Problem& problem) {
  std::vector<Bytes> budgets;
  for (const auto& place : problem.places) budgets.push_back(place.budget);
  return budgets;
}

}  // namespace terrace::strategy
