// SPDX-License-Identifier: Apache-2.0
// Computes the loads of the time law's rows (core, and each place's bandwidth) in a phase, and updates them as
// single items change places: planners' searches evaluate many candidate moves. Also provides lookups for these
// searches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

// Returns, by object, the predicted seconds of an iteration with all items on default places (or pinned), less
// those with this object on its domain's fastest place. Ignores budgets.
std::vector<double> object_benefits(const Problem& problem);

// Precomputed lookups of a problem for planners' searches. Refers to the problem, which must not change.
// Thread-safe.
class ProblemIndex {
 public:
  explicit ProblemIndex(const Problem& problem);

  [[nodiscard]] const Problem& problem() const { return *problem_; }
  [[nodiscard]] const std::vector<Use>& uses(std::uint32_t item) const { return uses_[item]; }
  [[nodiscard]] bool touched(std::uint32_t item, std::size_t phase) const {
    return touched_[item * problem_->phases.size() + phase] != 0;
  }
  // Returns a place's rank by speed within its domain; 0 is the fastest.
  [[nodiscard]] std::size_t rank(PlaceId place) const { return rank_[place]; }
  [[nodiscard]] PlaceId home(std::uint32_t item) const { return homes_[problem_->items[item].domain]; }
  // Returns whether the phase is a segment that continues another: no move is awaited at its start.
  [[nodiscard]] bool segment(std::size_t phase) const { return segment_[phase]; }

 private:
  const Problem* problem_;
  Uses uses_;                          // by item
  std::vector<std::uint8_t> touched_;  // [item x phase]
  std::vector<std::size_t> rank_;      // by place
  std::vector<PlaceId> homes_;         // by domain
  std::vector<bool> segment_;          // by phase
};

}  // namespace terrace::model
