// What each object alone is worth: the time that an iteration gains with it in fast memory and all else at home.
#pragma once

#include <vector>

#include "model/problem.hpp"

namespace terrace::model {

// By object: predicted seconds of an iteration with everything at home (or where it is pinned), less those with
// all of this object in its domain's fastest place. Budgets do not count.
std::vector<double> object_benefits(const Problem& problem);

}  // namespace terrace::model
