#include "strategy/hints/max_references.hpp"

#include <algorithm>

#include "strategy/search/knapsack.hpp"

namespace terrace::strategy {
namespace {

constexpr std::size_t k_states = std::size_t{1} << 22;  // the program waits for the answer

}  // namespace

std::vector<std::uint32_t> max_references(const std::vector<CountedChunk>& chunks,
                                          const std::vector<Shelf>& shelves, std::uint32_t home) {
  Knapsack knapsack;
  double slowest = 0;
  for (const auto& shelf : shelves) {
    knapsack.capacity.push_back(shelf.room.value);
    slowest = std::max(slowest, shelf.line_time);
  }
  std::vector<std::size_t> whose;
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    if (!(chunks[c].references > 0)) continue;
    auto& item = knapsack.items.emplace_back();
    item.size = chunks[c].size.value;
    for (const auto& shelf : shelves) item.value.push_back(chunks[c].references * (slowest - shelf.line_time));
    whose.push_back(c);
  }
  std::vector<std::uint32_t> shelf_of(chunks.size(), home);
  if (whose.empty()) return shelf_of;
  const auto answer = solve(knapsack, k_states);
  if (!answer.feasible) return shelf_of;
  for (std::size_t i = 0; i < whose.size(); ++i) shelf_of[whose[i]] = answer.bin[i];
  return shelf_of;
}

}  // namespace terrace::strategy
