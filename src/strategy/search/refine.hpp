// The last step of the joint planner where a problem is small: schedules that differ from the best one by where
// one or two items are over an interval of phases, each judged by the whole prediction.
#pragma once

#include <cstdint>

#include "strategy/planner.hpp"

namespace terrace::strategy {

// Improves `best` by local search with kicks (iterated local search: Lourenco, Martin and Stutzle, in "Handbook of
// Metaheuristics", 2003) until nothing is found or the work is done, which is counted in items x phases that are
// predicted, so that the same problem always gets the same answer. Another seed takes other ways.
void refine(const model::Problem& problem, double work, std::uint32_t seed, Decision& best);

}  // namespace terrace::strategy
