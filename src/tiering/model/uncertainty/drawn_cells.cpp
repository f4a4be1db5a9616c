// SPDX-License-Identifier: Apache-2.0
// Builds the cells (traffic of items) of a randomly drawn phase, for the confidence of predictions. See
// drawn_cells.hpp.
#include "model/uncertainty/drawn_cells.hpp"

#include <algorithm>

namespace terrace::model {

using Counts = SamplingError::Counts;

namespace {

using Group = SamplingError::Group;

// Returns, by item, the latencies per sample: its own if it has samples, else the object's.
std::vector<double> exposures(const Group& group, const std::vector<const ItemCell*>& cells) {
  double exposure = 0, samples = 0;
  for (const auto& member : group.members) {
    if (const auto* cell = cells[member.item]) {
      exposure += cell->samples > 0 ? cell->exposure : 0;
      samples += cell->samples;
    }
  }
  std::vector<double> result;
  for (const auto& member : group.members) {
    const auto* cell = cells[member.item];
    const bool own = cell != nullptr && cell->samples > 0;
    result.push_back(own ? cell->exposure / cell->samples : samples > 0 ? exposure / samples : 0);
  }
  return result;
}

}  // namespace

DrawnCells::DrawnCells(const Problem& problem, const ProblemPhase& phase)
    : old_(problem.items.size(), nullptr), at_(problem.items.size(), 0) {
  for (const auto& cell : phase.cells) {
    at(cell.item) = cell;
    old_[cell.item] = &cell;
  }
}

// Sets the items' drawn counts. Exposed latencies follow the time samples.
void DrawnCells::put(const Counts& counts, const DrawnCounts& drawn) {
  for (std::size_t g = 0; g < counts.groups.size(); ++g) {
    const auto& group = counts.groups[g];
    const auto kind = group.kind;
    std::vector<double> exposure;
    if (kind == SamplingError::time_samples) exposure = exposures(group, old_);
    for (std::size_t m = 0; m < group.members.size(); ++m) {
      const auto value = drawn.values[g][m];
      if (value <= 0 && old_[group.members[m].item] == nullptr) continue;
      auto& cell = at(group.members[m].item);
      cell.*k_values[kind] = value;
      if (kind == SamplingError::time_samples) cell.exposure = value * exposure[m];
    }
  }
}

std::vector<ItemCell> DrawnCells::take() {
  for (auto& cell : cells_) {
    cell.streamed_bytes = std::min(cell.streamed_bytes, cell.read_bytes);
    cell.streamed_exposure = std::min(cell.streamed_exposure, cell.exposure);
  }
  std::sort(cells_.begin(), cells_.end(), [](const auto& a, const auto& b) { return a.item < b.item; });
  return std::move(cells_);
}

// Returns the item's cell, a new one if it has none.
ItemCell& DrawnCells::at(std::uint32_t item) {
  if (at_[item] == 0) {
    cells_.push_back({item, 0, 0, 0, 0});
    at_[item] = static_cast<std::uint32_t>(cells_.size());
  }
  return cells_[at_[item] - 1];
}

ProblemPhase undo_fit(const ProblemPhase& held) {
  auto phase = held;
  phase.core = phase.core * (1 / held.latency_scale);
  for (auto& cell : phase.cells) {
    cell.exposure /= held.latency_scale;
    cell.streamed_exposure /= held.latency_scale;
    cell.read_bytes /= held.bytes_scale;
    cell.streamed_bytes /= held.bytes_scale;
    cell.write_bytes /= held.bytes_scale;
    cell.bytes_variance /= held.bytes_scale * held.bytes_scale;
  }
  phase.latency_scale = phase.bytes_scale = 1;
  return phase;
}

}  // namespace terrace::model
