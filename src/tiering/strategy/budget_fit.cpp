// SPDX-License-Identifier: Apache-2.0
// See budget_fit.hpp.
#include "strategy/budget_fit.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace terrace::strategy {

std::vector<bool> chunks_over_budget(const std::vector<PlannedChunk>& away, machine::Budget budget) {
  std::vector<std::size_t> order(away.size());
  std::iota(order.begin(), order.end(), 0);
  const auto density = [&](std::size_t i) {
    return away[i].worth.value / static_cast<double>(std::max<std::uint64_t>(away[i].size.value, 1));
  };
  std::ranges::stable_sort(order, [&](auto a, auto b) { return density(a) > density(b); });
  std::vector<bool> out(away.size(), false);
  for (const auto i : order) {
    auto& room = budget[away[i].place];
    out[i] = away[i].size > room;
    if (!out[i]) room -= away[i].size;
  }
  return out;
}

}  // namespace terrace::strategy
