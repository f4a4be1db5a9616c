// SPDX-License-Identifier: Apache-2.0
// Computes a lower bound of the iteration time, which planners state with each plan, by subgradient ascent on the
// Lagrangian relaxation (relaxation.hpp).
#pragma once

#include "model/problem.hpp"
#include "model/relaxation.hpp"

namespace terrace::model {

struct LowerBound {
  double seconds = 0;  // no software placement is faster, within the accuracy of the problem's numbers
  Multipliers prices;  // certificate: prices with this bound
  int passes = 0;
};

struct AscentLimits {
  int passes = 200;
  double tolerance = 1e-4;  // relative gap to `target` at which to stop
};

// Returns prices with each phase's weight on its critical row with all items on default places.
Multipliers prices_at_home(const Problem& problem);

// Returns the number of passes that take some tens of milliseconds for a problem of this size.
int affordable_passes(const Problem& problem);

// Ascends by averaged subgradients towards `target`, the time of the best known schedule. With Problem::cyclic,
// items must end an iteration where they began it; without it the bound holds for every single iteration of a run.
// `start`: initial prices; empty: chosen by the function. The bound excludes an exact problem's `unexplained`
// times, which depend on the placement.
LowerBound lower_bound(const Problem& problem, double target, AscentLimits limits = {}, Multipliers start = {});

// Makes valid prices of any numbers: sets negative ones to 0, normalises each phase's row prices to the sum 1, and
// zeroes capacity prices of unbounded places. Throws Error{invalid} for a wrong number of prices.
Multipliers make_feasible(const Problem& problem, Multipliers prices);

// Returns the bound at make_feasible(prices).
double bound_at(const Problem& problem, Multipliers prices);

}  // namespace terrace::model
