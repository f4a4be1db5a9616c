// SPDX-License-Identifier: Apache-2.0
// Implements static placements of pages on a simulated GPU: by a fraction, by a list, and an oracle by traffic.
// The simulator calls them for new pages; `terrace lab gpu` selects one.
#include "gpu_sim/engine/page_placement.hpp"

#include <algorithm>
#include <numeric>

namespace terrace::gpu_sim {

std::vector<std::uint8_t> FractionPagePlacement::initial_memories(const Allocation&, std::uint64_t pages) {
  std::vector<std::uint8_t> memories;
  memories.reserve(pages);
  for (std::uint64_t i = 0; i < pages; ++i) {
    sum_ += share_;
    // The tolerance makes a share of 1 all pages, whatever its sums round to.
    const bool is_own = sum_ >= 1 - 1e-9;
    if (is_own) sum_ -= 1;
    memories.push_back(is_own ? 0 : 1);
  }
  return memories;
}

std::vector<std::uint8_t> ListedPagePlacement::initial_memories(const Allocation&, std::uint64_t) {
  if (next_ >= memory_of_page_.size()) return {1};
  return {memory_of_page_.begin() + static_cast<std::ptrdiff_t>(next_), memory_of_page_.end()};
}

void ListedPagePlacement::on_pages_added(std::uint32_t, std::uint32_t count, const PageTable&) { next_ += count; }

std::vector<std::uint8_t> oracle_placement(std::span<const std::uint64_t> traffic, double share,
                                           std::uint64_t max_pages) {
  std::vector<std::size_t> order(traffic.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return traffic[a] > traffic[b]; });
  const auto wanted =
      share * static_cast<double>(std::accumulate(traffic.begin(), traffic.end(), std::uint64_t{0}));
  std::vector<std::uint8_t> memories(traffic.size(), 1);
  double sum = 0;
  for (std::size_t i = 0; i < order.size() && i < max_pages && sum < wanted && traffic[order[i]] != 0; ++i) {
    memories[order[i]] = 0;
    sum += static_cast<double>(traffic[order[i]]);
  }
  return memories;
}

}  // namespace terrace::gpu_sim
