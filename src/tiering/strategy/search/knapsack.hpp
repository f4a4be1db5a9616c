// SPDX-License-Identifier: Apache-2.0
// Solves the generalised assignment problem (a knapsack with several bins): every item goes into exactly one bin,
// each bin has a capacity, the sum of the values is maximal. With two bins, one of them large enough for all
// items, it is the 0-1 knapsack of Unimem's section 3.1.3. Planners (choose.hpp) and the placement by hints choose
// places by it: items are data, bins are memories.
//
// Lagrange multipliers (prices) on the capacities give an upper bound. A greedy solution by reduced value,
// improved by changes of one item and swaps of two, gives a lower bound. The bounds rule out choices that cannot
// be part of a better solution. The rest is solved exactly by dynamic programming over granules of the capacities,
// if it has at most `max_states` states times items. Otherwise the greedy solution is returned, and the bound
// limits its error.
#pragma once

#include <cstdint>
#include <vector>

namespace terrace::strategy {

inline constexpr double k_not_allowed = -1e300;  // value of a forbidden bin

struct KnapsackItem {
  std::uint64_t size = 0;
  std::vector<double> value;  // by bin
};

struct Knapsack {
  std::vector<std::uint64_t> capacity;  // by bin
  std::vector<KnapsackItem> items;
};

struct KnapsackSolution {
  std::vector<std::uint32_t> bin;  // by item
  double value = 0;
  double bound = 0;  // upper bound of the value of any solution
  bool exact = false;
  bool feasible = true;  // false: no solution was found that fits; `bin` overfills some bins
  [[nodiscard]] double gap() const { return exact ? 0 : bound - value; }
};

inline constexpr std::size_t k_max_states = std::size_t{1} << 24;

KnapsackSolution solve(const Knapsack& knapsack, std::size_t max_states = k_max_states);

}  // namespace terrace::strategy
