// What planners share that place whole data structures, once for the whole run, greedily by density: worth over
// size.
#pragma once

#include <vector>

#include "model/problem.hpp"

namespace terrace::strategy {

// `worth` is by item. An object's items of one domain go together, densest object first, into the fastest place
// that has room for all of them; one that fits nowhere stays at home, and smaller ones after it may still fit.
// Equally dense objects go in the program's order; those of no worth stay at home. Pinned items are where they are
// pinned and take their room first.
model::Placement place_whole_objects(const model::Problem& problem, const std::vector<double>& worth);

}  // namespace terrace::strategy
