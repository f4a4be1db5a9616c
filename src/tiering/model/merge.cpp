// SPDX-License-Identifier: Apache-2.0
// Implements the agglomerative merging of a problem's items by traffic density, for make_problem(). See merge.hpp.
#include "model/merge.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace terrace::model {
namespace {

// Returns, for each item, the difference of traffic to the next item: 0 for equal traffic per byte in every phase,
// 1 for no common phase.
std::vector<double> differences(const Problem& problem) {
  const auto n = problem.items.size();
  std::vector<double> apart(n, 0), together(n, 0);
  const auto density = [&](const ItemCell& cell) {
    return (cell.read_bytes + cell.write_bytes + 64 * cell.exposure) /
           static_cast<double>(problem.items[cell.item].size.value);
  };
  for (const auto& phase : problem.phases) {
    for (std::size_t i = 0; i < phase.cells.size(); ++i) {
      const auto& cell = phase.cells[i];
      const auto here = density(cell);
      const bool next_follows = i + 1 < phase.cells.size() && phase.cells[i + 1].item == cell.item + 1;
      const bool follows = i > 0 && phase.cells[i - 1].item + 1 == cell.item;
      const auto next = next_follows ? density(phase.cells[i + 1]) : 0;
      apart[cell.item] += std::abs(here - next);
      together[cell.item] += here + next;
      if (!follows && cell.item > 0) {
        apart[cell.item - 1] += here;
        together[cell.item - 1] += here;
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) apart[i] = together[i] > 0 ? apart[i] / together[i] : 0;
  return apart;
}

// Returns whether item `a` and the next one are adjacent chunks of one object that may be placed as one item.
bool may_join(const Problem& problem, std::size_t a) {
  const auto& left = problem.items[a];
  const auto& right = problem.items[a + 1];
  return left.object == right.object && left.domain == right.domain && left.pinned == right.pinned &&
         problem.measured_at[a] == problem.measured_at[a + 1] && left.ordinal + left.chunks == right.ordinal;
}

}  // namespace

void sum_cells_of_an_item(std::vector<ItemCell>& cells) {
  const auto before = [](const ItemCell& a, const ItemCell& b) { return a.item < b.item; };
  if (!std::is_sorted(cells.begin(), cells.end(), before)) std::stable_sort(cells.begin(), cells.end(), before);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (kept > 0 && cells[kept - 1].item == cells[i].item) {
      auto& sum = cells[kept - 1];
      sum.read_bytes += cells[i].read_bytes;
      sum.write_bytes += cells[i].write_bytes;
      sum.exposure += cells[i].exposure;
      sum.samples += cells[i].samples;
      sum.samples_variance += cells[i].samples_variance;
      sum.bytes_variance += cells[i].bytes_variance;
      sum.streamed_bytes += cells[i].streamed_bytes;
      sum.streamed_exposure += cells[i].streamed_exposure;
    } else {
      cells[kept++] = cells[i];
    }
  }
  cells.resize(kept);
}

void merge_neighbours(Problem& problem, std::size_t max_items) {
  const auto n = problem.items.size();
  if (n <= max_items || max_items == 0) return;
  std::uint64_t total = 0;
  for (const auto& item : problem.items) total += item.size.value;
  const auto largest = 4 * total / max_items + 1;

  const auto apart = differences(problem);
  std::vector<std::size_t> order;
  for (std::size_t a = 0; a + 1 < n; ++a) {
    if (may_join(problem, a)) order.push_back(a);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return apart[a] < apart[b]; });

  // Union-find forest of runs; the root of a run is its first item.
  std::vector<std::size_t> parent(n);
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto root = [&](std::size_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  std::vector<std::uint64_t> size(n);
  for (std::size_t i = 0; i < n; ++i) size[i] = problem.items[i].size.value;
  auto left = n;
  for (const auto a : order) {
    if (left <= max_items) break;
    const auto first = root(a), second = root(a + 1);
    if (size[first] + size[second] > largest) continue;
    parent[second] = first;
    size[first] += size[second];
    --left;
  }

  std::vector<std::uint32_t> index(n);
  std::vector<Item> items;
  std::vector<PlaceId> measured_at;
  for (std::size_t i = 0; i < n; ++i) {
    if (root(i) == i) {
      items.push_back(problem.items[i]);
      measured_at.push_back(problem.measured_at[i]);
    } else {
      items.back().size += problem.items[i].size;
      items.back().chunks += problem.items[i].chunks;
      items.back().remapping += problem.items[i].remapping;
      items.back().stall += problem.items[i].stall;
    }
    index[i] = static_cast<std::uint32_t>(items.size() - 1);
  }
  problem.items = std::move(items);
  problem.measured_at = std::move(measured_at);
  for (auto& phase : problem.phases) {
    for (auto& cell : phase.cells) cell.item = index[cell.item];
    sum_cells_of_an_item(phase.cells);
    for (auto& cell : phase.cells) cell.samples = std::min(cell.samples, phase.samples);
  }
}

}  // namespace terrace::model
