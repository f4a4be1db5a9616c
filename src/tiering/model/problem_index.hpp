// SPDX-License-Identifier: Apache-2.0
// Precomputed lookups of a problem for planners' searches. Refers to the problem, which must not change.
// Thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "model/loads.hpp"
#include "model/problem.hpp"

namespace terrace::model {

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
