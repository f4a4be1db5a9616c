// Cells of a drawn phase (sampling_error.hpp), from the counts that were drawn for its items.
#pragma once

#include <vector>

#include "model/uncertainty/sampling_error.hpp"

namespace terrace::model {

struct Drawn {
  std::vector<std::vector<double>> values;  // by group and member, in units of the cells
  double rest = 0;                          // in samples
};

// A new cell for each item that has any counts, from what was drawn; what has no error stays as it was.
class DrawnCells {
 public:
  DrawnCells(const Problem& problem, const ProblemPhase& phase);
  void put(const SamplingError::Counts& counts, const Drawn& drawn);
  std::vector<ItemCell> take();

 private:
  ItemCell& at(std::uint32_t item);

  std::vector<const ItemCell*> old_;  // by item
  std::vector<std::uint32_t> at_;     // by item: its cell's position + 1
  std::vector<ItemCell> cells_;
};

// What cells have of each kind of count: samples, bytes read, bytes written.
inline constexpr double ItemCell::*k_values[] = {&ItemCell::samples, &ItemCell::read_bytes,
                                                 &ItemCell::write_bytes};

// Returns the phase unscaled, as samples gave it.
ProblemPhase as_estimated(const ProblemPhase& held);

}  // namespace terrace::model
