// SPDX-License-Identifier: Apache-2.0
// Places whole objects, once for the whole run, greedily by density (worth over size). Used by planners such as
// ecohmem and xmem.
#pragma once

#include <vector>

#include "model/problem.hpp"

namespace terrace::strategy {

// Returns the placement. `worth` is by item. An object's items of one domain go together, densest object first,
// into the fastest place with space for all of them. An object that fits nowhere stays at home; smaller ones after
// it may still fit. Equally dense objects are placed in the program's order; those without worth stay at home.
// Pinned items are placed first.
model::Placement place_whole_objects(const model::Problem& problem, const std::vector<double>& worth);

}  // namespace terrace::strategy
