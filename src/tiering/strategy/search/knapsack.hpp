// The multiple-choice knapsack with several bins: every item goes into exactly one bin, each bin has a capacity,
// the sum of the values is to be as large as possible. With two bins, one of them large enough for everything, it
// is the 0-1 knapsack of Unimem's section 3.1.3.
//
// Prices on the bins (Lagrange multipliers) give an upper bound; a greedy answer by reduced value, improved by
// changes of one item and swaps of two, gives a lower one. Choices that cannot be part of a better answer are
// ruled out by the two, and what is left is solved exactly by dynamic programming over granules of the bins'
// capacities, if it has at most `max_states` states times items. Beyond, the greedy answer stands and the bound
// tells what it may have missed.
#pragma once

#include <cstdint>
#include <vector>

namespace terrace::strategy {

inline constexpr double k_not_allowed = -1e300;  // a value: the item must not go there

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
  double bound = 0;  // no answer is worth more
  bool exact = false;
  bool feasible = true;  // false: no answer was found that fits; `bin` overfills some
  [[nodiscard]] double gap() const { return exact ? 0 : bound - value; }
};

inline constexpr std::size_t k_max_states = std::size_t{1} << 24;

KnapsackSolution solve(const Knapsack& knapsack, std::size_t max_states = k_max_states);

}  // namespace terrace::strategy
