// What several planners share: one placement for given values of (item, place), and schedules that never move.
#pragma once

#include <cstdint>
#include <vector>

#include "model/problem.hpp"
#include "strategy/search/knapsack.hpp"

namespace terrace::strategy {

struct PlacementChoice {
  std::vector<PlaceId> places;  // by entry of `items`
  double value = 0;
  double gap = 0;        // what the knapsacks left open, in the values' unit
  bool feasible = true;  // false: a domain's memory is too small for its items, whatever is chosen
};

// A knapsack for each domain. values[n][place] is for items[n]; places of other domains are ignored, pinned items
// go where they are pinned. `budgets` is by place.
PlacementChoice choose_places(const model::Problem& problem, const std::vector<std::uint32_t>& items,
                              const std::vector<std::vector<double>>& values, const std::vector<Bytes>& budgets,
                              std::size_t max_states = k_max_states);

std::vector<Bytes> budgets_of(const model::Problem& problem);

}  // namespace terrace::strategy
