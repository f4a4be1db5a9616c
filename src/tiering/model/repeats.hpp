// Where a phase goes on that goes on for longer than its profile knows: a solver that takes more steps, say.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan.hpp"
#include "model/problem.hpp"

namespace terrace::model {

// For each phase of several segments that did before an earlier one what it did before its end: used the same data
// over a quarter of the phase's accesses, at least as long ago. Nothing for a phase in which that does not come
// again, such as a sweep.
std::vector<Repeat> repeats(const Problem& problem);

}  // namespace terrace::model
