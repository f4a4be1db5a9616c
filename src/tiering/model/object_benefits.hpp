// SPDX-License-Identifier: Apache-2.0
// Benefit of each object alone: time saved per iteration with it in fast memory and all others on default places.
#pragma once

#include <vector>

#include "model/problem.hpp"

namespace terrace::model {

// Returns, by object, the predicted seconds of an iteration with all items on default places (or pinned), less
// those with this object on its domain's fastest place. Ignores budgets.
std::vector<double> object_benefits(const Problem& problem);

}  // namespace terrace::model
