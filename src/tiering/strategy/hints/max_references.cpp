// SPDX-License-Identifier: Apache-2.0
// Chooses a place for each chunk so that fast memory serves the most references, by a knapsack, for the initial
// placement by hints. See max_references.hpp.
#include "strategy/hints/max_references.hpp"

#include <algorithm>

#include "strategy/search/knapsack.hpp"

namespace terrace::strategy {
namespace {

constexpr std::size_t k_states = std::size_t{1} << 22;  // limited, because the program waits for the result

}  // namespace

std::vector<std::uint32_t> max_references(const std::vector<CountedChunk>& chunks,
                                          const std::vector<PlaceOption>& options, std::uint32_t home) {
  Knapsack knapsack;
  double slowest = 0;
  for (const auto& option : options) {
    knapsack.capacity.push_back(option.capacity.value);
    slowest = std::max(slowest, option.line_time);
  }
  std::vector<std::size_t> whose;
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    if (!(chunks[c].references > 0)) continue;
    auto& item = knapsack.items.emplace_back();
    item.size = chunks[c].size.value;
    for (const auto& option : options) item.value.push_back(chunks[c].references * (slowest - option.line_time));
    whose.push_back(c);
  }
  std::vector<std::uint32_t> option_of(chunks.size(), home);
  if (whose.empty()) return option_of;
  const auto answer = solve(knapsack, k_states);
  if (!answer.feasible) return option_of;
  for (std::size_t i = 0; i < whose.size(); ++i) option_of[whose[i]] = answer.bin[i];
  return option_of;
}

}  // namespace terrace::strategy
