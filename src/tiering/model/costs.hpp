// SPDX-License-Identifier: Apache-2.0
// Defines the costs of the runtime's own work in virtual time; the runtime and the planners charge them to the
// clock where the work is done. Measured for this library on a 2020s server core by
// bench/runtime/runtime_bench.cpp and rounded: a marker with nothing to do; segments that request moves; a chunk's
// move requested, collected and logged; a phase's journal record; planning by cells; cells evaluated before there
// is a plan. Planning runs in the background.
#pragma once

#include "core/units.hpp"

namespace terrace::model {

inline constexpr Seconds k_marker_cost{600e-9};
inline constexpr Seconds k_ask_cost{0.1e-6};
inline constexpr Seconds k_move_cost{0.08e-6};
inline constexpr Seconds k_log_cost{0.4e-6};
// For each cell evaluated before there is a plan (ski-rental decision: accumulated cost against a move).
inline constexpr Seconds k_rent_cost{0.1e-6};
// Processor time in the background: a quick plan, for each cell (k_plan_cost) and for each item and phase
// (k_way_cost); a search of placement paths, for each item and phase (k_search_cost); and one attempt to stream,
// which makes the first plan, for each of both.
inline constexpr Seconds k_plan_cost{4e-6};
inline constexpr Seconds k_way_cost{0.15e-6};
inline constexpr Seconds k_search_cost{2e-6};
inline constexpr Seconds k_first_plan_cost{0.8e-6};
inline constexpr Seconds k_first_way_cost{0.03e-6};
// Processor time to predict a move's gain, for each use of the chunk that is evaluated.
inline constexpr Seconds k_gain_cost{0.03e-6};

}  // namespace terrace::model
