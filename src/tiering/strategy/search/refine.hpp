// SPDX-License-Identifier: Apache-2.0
// Improves schedules of small problems by local search, as the last step of the default planner. A neighbour
// differs by the place of one or two items over an interval of phases. Each is evaluated by the full prediction.
#pragma once

#include <array>

#include "model/problem.hpp"
#include "strategy/planner.hpp"

namespace terrace::strategy {

// The values of Schedule::min_copy_share that the search tries.
inline constexpr std::array k_keeps = {0.1, 0.25, model::k_unlimited_copy_share};

// Improves `best` by local search with kicks (iterated local search: Lourenco, Martin and Stutzle, in "Handbook of
// Metaheuristics", 2003), until no improvement is found or `work` is spent. Work is counted in predicted items x
// phases, so that the result is deterministic. Does nothing if `work` is too little to try each item once.
void refine(const model::Problem& problem, double work, Decision& best);
// Returns whether `work` suffices to try each item once.
bool can_refine(const model::Problem& problem, double work);

}  // namespace terrace::strategy
