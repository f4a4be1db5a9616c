// The lower bound that comes with every plan.
#pragma once

#include "model/problem.hpp"
#include "model/relaxation.hpp"

namespace terrace::model {

struct LowerBound {
  double seconds = 0;  // no software placement makes an iteration faster, as far as the problem's numbers hold
  Multipliers prices;  // those that prove it
  int passes = 0;
};

struct AscentLimits {
  int passes = 200;
  double tolerance = 1e-4;  // stops when within this share of `target`
};

// Each phase's price on the row that bounds it with everything at home.
Multipliers prices_at_home(const Problem& problem);

// Passes that take tens of milliseconds, whatever the problem's size.
int affordable_passes(const Problem& problem);

// Climbs by averaged subgradients towards `target`, the time of the best schedule that is known. The problem's
// `cyclic` says whether items must end an iteration where they began it; without it the bound holds for every
// single iteration of a run. `start` are prices to begin with; empty ones begin where all items are at home.
// An exact problem's `unexplained` times are no part of the bound: they depend on the placement.
LowerBound lower_bound(const Problem& problem, double target, AscentLimits limits = {}, Multipliers start = {});

// Any numbers made prices: negative ones are 0, those of a phase's rows sum to 1, and places with room for
// everything have none. Throws Error{invalid} where there are more or fewer than the problem has.
Multipliers feasible(const Problem& problem, Multipliers prices);

// What feasible(prices) prove.
double bound_at(const Problem& problem, Multipliers prices);

}  // namespace terrace::model
