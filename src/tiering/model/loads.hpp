// SPDX-License-Identifier: Apache-2.0
// Loads of the time law's rows (core, and each place's bandwidth) in a phase, updated incrementally as single
// items change places: planners' searches evaluate many candidate moves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "model/problem.hpp"

namespace terrace::model {

// Return the time that a cell's traffic occupies a place's bandwidth, and the latency that it exposes there.
inline double busy_time(const ItemCell& cell, const ProblemPlace& place) {
  return cell.read_bytes / place.read_bandwidth + cell.write_bytes / place.write_bandwidth;
}
inline double exposed_time(const ItemCell& cell, const ProblemPlace& place) {
  return cell.exposure * place.latency;
}

// Rows of one phase: C + D, and B of every place.
class PhaseLoad {
 public:
  PhaseLoad(const Problem& problem, const ProblemPhase& phase)
      : problem_(&problem), stalled_(phase.core.value), busy_(problem.places.size(), 0) {}

  void put(const ItemCell& cell, PlaceId place) { change(cell, place, 1); }
  void take(const ItemCell& cell, PlaceId place) { change(cell, place, -1); }
  [[nodiscard]] double stalled() const { return stalled_; }
  [[nodiscard]] double busy(std::size_t place) const { return busy_[place]; }
  [[nodiscard]] double bandwidth() const { return *std::max_element(busy_.begin(), busy_.end()); }
  [[nodiscard]] double time() const { return std::max(stalled_, bandwidth()); }
  // Returns time() with the cell on `to` instead of `from`.
  [[nodiscard]] double time_if_moved(const ItemCell& cell, PlaceId from, PlaceId to) const {
    const auto& places = problem_->places;
    auto most = stalled_ - exposed_time(cell, places[from]) + exposed_time(cell, places[to]);
    for (std::size_t p = 0; p < busy_.size(); ++p) {
      auto busy = busy_[p];
      if (p == from) busy -= busy_time(cell, places[from]);
      if (p == to) busy += busy_time(cell, places[to]);
      most = std::max(most, busy);
    }
    return most;
  }

 private:
  void change(const ItemCell& cell, PlaceId place, double sign) {
    stalled_ += sign * exposed_time(cell, problem_->places[place]);
    busy_[place] += sign * busy_time(cell, problem_->places[place]);
  }

  const Problem* problem_;
  double stalled_;
  std::vector<double> busy_;
};

inline PhaseLoad load_of(const Problem& problem, std::size_t phase, const Placement& placement) {
  PhaseLoad load(problem, problem.phases[phase]);
  for (const auto& cell : problem.phases[phase].cells) load.put(cell, placement[cell.item]);
  return load;
}

// Cells of each item, by the phases that access it, in order.
struct Use {
  std::uint32_t phase = 0;
  const ItemCell* cell = nullptr;
};
using Uses = std::vector<std::vector<Use>>;
Uses uses_by_item(const Problem& problem);

}  // namespace terrace::model
