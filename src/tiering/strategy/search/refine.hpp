// The last step of the default planner where a problem is small: schedules that differ from the best one by where
// one or two items are over an interval of phases, each judged by the whole prediction.
#pragma once

#include <array>

#include "model/problem.hpp"
#include "strategy/planner.hpp"

namespace terrace::strategy {

// How far it holds copies back (Schedule::copies_keep).
inline constexpr std::array k_keeps = {0.1, 0.25, model::k_unlimited_copy_share};

// Improves `best` by local search with kicks (iterated local search: Lourenco, Martin and Stutzle, in "Handbook of
// Metaheuristics", 2003) until nothing is found or the work is done, which is counted in items x phases that are
// predicted, so that the same problem always gets the same answer. Does nothing where so much work is not enough
// to try each item once.
void refine(const model::Problem& problem, double work, Decision& best);
bool can_refine(const model::Problem& problem, double work);

}  // namespace terrace::strategy
