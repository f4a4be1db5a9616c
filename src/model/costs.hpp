// What the runtime's own work costs in virtual time: stated here, charged to the clock wherever the work is done.
// The figures are this library's own on a 2020s server core, rounded, taken by bench/runtime_bench (marker
// with nothing to do; segments that ask for moves; each chunk, asked for, harvested and logged; a phase's record
// in the journal; planning by cells). Planning runs beside the program.
#pragma once

#include <algorithm>

#include "base/units.hpp"

namespace terrace::model {

inline constexpr Seconds k_marker_cost{600e-9};
inline constexpr Seconds k_ask_cost{0.1e-6};
inline constexpr Seconds k_move_cost{0.08e-6};
inline constexpr Seconds k_log_cost{0.4e-6};
inline constexpr double k_few_cells = 3000;
inline constexpr Seconds k_plan_cost_per_cell{8e-6};          // of the first few
inline constexpr Seconds k_plan_cost_per_further_cell{4e-6};  // of the others

// What a quick plan takes of a processor beside the program.
inline Seconds plan_cost(double cells) {
  const auto few = std::min(cells, k_few_cells);
  return few * k_plan_cost_per_cell + (cells - few) * k_plan_cost_per_further_cell;
}

}  // namespace terrace::model
