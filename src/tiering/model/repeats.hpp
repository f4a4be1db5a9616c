// SPDX-License-Identifier: Apache-2.0
// Finds where a phase continues that runs for longer than profiled, such as a solver that needs more steps.
// make_plan() calls it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan.hpp"
#include "model/problem.hpp"

namespace terrace::model {

// Returns, for each phase of several segments, the segment that follows its last one if it runs for longer than
// profiled. The data used before that segment equal those used before the phase's profiled end. Both windows have
// a quarter of the phase's accesses and do not overlap. A phase without such a repetition (a sweep) has no entry.
std::vector<Repeat> find_repeats(const Problem& problem);

}  // namespace terrace::model
