// SPDX-License-Identifier: Apache-2.0
// Finds where a phase continues that runs for longer than profiled, such as a solver that needs more steps.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan.hpp"
#include "model/problem.hpp"

namespace terrace::model {

// Returns, for each phase of several segments, the segment at which it continues after its last one: before that
// segment the phase used the same data as before its end, over a window of a quarter of its accesses, at least a
// window earlier. No entry for a phase without such a repetition, such as a sweep.
std::vector<Repeat> find_repeats(const Problem& problem);

}  // namespace terrace::model
