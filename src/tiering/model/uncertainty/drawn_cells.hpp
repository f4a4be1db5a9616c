// SPDX-License-Identifier: Apache-2.0
// Builds the cells of a phase of a random draw (sampling_error.hpp) from the counts drawn for its items. Used by
// both models of error in this folder.
#pragma once

#include <vector>

#include "model/uncertainty/sampling_error.hpp"

namespace terrace::model {

struct DrawnCounts {
  std::vector<std::vector<double>> values;  // by group and member, in units of the cells
  double rest = 0;                          // in samples
};

// Collects drawn cells, one for each item with any counts; values without error keep their estimates.
class DrawnCells {
 public:
  DrawnCells(const Problem& problem, const ProblemPhase& phase);
  void put(const SamplingError::Counts& counts, const DrawnCounts& drawn);
  std::vector<ItemCell> take();

 private:
  ItemCell& at(std::uint32_t item);

  std::vector<const ItemCell*> old_;  // by item
  std::vector<std::uint32_t> at_;     // by item: its cell's position + 1
  std::vector<ItemCell> cells_;
};

// Member of a cell for each kind of count: samples, bytes read, bytes written.
inline constexpr double ItemCell::*k_values[] = {&ItemCell::samples, &ItemCell::read_bytes,
                                                 &ItemCell::write_bytes};

// Returns the phase with its estimates unscaled, as sampled (reverses fit_to_measured()).
ProblemPhase undo_fit(const ProblemPhase& held);

}  // namespace terrace::model
