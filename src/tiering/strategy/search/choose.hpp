// SPDX-License-Identifier: Apache-2.0
// Finds the placement of greatest value for given values of each item in each place. Shared by Unimem's planners
// and the static planner.
#pragma once

#include <cstdint>
#include <vector>

#include "model/problem.hpp"
#include "strategy/search/knapsack.hpp"

namespace terrace::strategy {

struct PlacementChoice {
  std::vector<PlaceId> places;  // by entry of `items`
  double value = 0;
  double gap = 0;        // by which `value` may be below the optimum, in the values' unit
  bool feasible = true;  // false: a domain's memory is too small for its items
};

// Solves a knapsack for each domain. values[n][place] is the value of items[n] in that place; places of other
// domains are ignored. Pinned items stay where they are pinned. `budgets` is by place.
PlacementChoice choose_places(const model::Problem& problem, const std::vector<std::uint32_t>& items,
                              const std::vector<std::vector<double>>& values, const std::vector<Bytes>& budgets,
                              std::size_t max_states = k_max_states);

// Returns the budget of each place.
std::vector<Bytes> budgets_of(const model::Problem& problem);

}  // namespace terrace::strategy
