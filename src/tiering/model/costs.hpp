// What the runtime's own work costs in virtual time: stated here, charged to the clock wherever the work is done.
// The figures are this library's own on a 2020s server core, rounded, taken by bench/runtime_bench (marker
// with nothing to do; segments that ask for moves; each chunk, asked for, collected and logged; a phase's record
// in the journal; planning by cells; cells looked at before there is a plan). Planning runs beside the program.
#pragma once

#include "core/units.hpp"

namespace terrace::model {

inline constexpr Seconds k_marker_cost{600e-9};
inline constexpr Seconds k_ask_cost{0.1e-6};
inline constexpr Seconds k_move_cost{0.08e-6};
inline constexpr Seconds k_log_cost{0.4e-6};
// Before there is a plan, for each cell that is looked at: what it paid, and what moves for that.
inline constexpr Seconds k_rent_cost{0.1e-6};
// Of a processor beside the program: a quick plan, for each cell of the problem and for each item and phase; what
// a search of ways adds for each item and phase; and one attempt to stream, of which the first plan is made, for
// both.
inline constexpr Seconds k_plan_cost{4e-6};
inline constexpr Seconds k_way_cost{0.15e-6};
inline constexpr Seconds k_search_cost{2e-6};
inline constexpr Seconds k_first_plan_cost{0.8e-6};
inline constexpr Seconds k_first_way_cost{0.03e-6};
// Processor time of predicting a move's gain, for each use of the chunk that is evaluated.
inline constexpr Seconds k_gain_cost{0.03e-6};

}  // namespace terrace::model
