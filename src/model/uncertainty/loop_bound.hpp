// Lower bound of a whole loop, from one problem of its usual iteration.
//
// Iterations of a loop differ: the last turn of a detected loop may end early, and others run on. A bound of the
// usual iteration is no bound of the mean one. Here each phase counts with the share of it that the mean iteration
// runs, and data may be anywhere when the loop begins and when it ends.
//
// Time that the estimates leave unexplained is no part of the bound: fast memory may serve accesses that no sample
// met. Sampled counts err. `drawn` has the bounds of problems that might have given the same samples, each with
// prices fitted to it: they err about the estimate as the estimate errs about the truth. Prices that are fitted to
// noise prove too much, and the draws show by how much.
#pragma once

#include <cstdint>
#include <vector>

#include "model/lower_bound.hpp"
#include "model/problem.hpp"

namespace terrace::model {

struct LoopBound {
  double seconds = 0;         // of the mean iteration, by the problem as it is
  std::vector<double> drawn;  // the same by draw; empty for exact problems
  double core = 0;            // time of the mean iteration that no memory shortens
};

// `shares`: by phase, of its time, what the mean of `iterations` iterations runs of it (0 to 1). `prices` as
// lower_bound() found them for the problem. Throws Error{invalid} where there are more or fewer shares than
// phases.
LoopBound loop_bound(const Problem& problem, const std::vector<double>& shares, std::uint32_t iterations,
                     double target, const Multipliers& prices, std::uint32_t draws);

// Returns by phase what no placement beats in it alone, with data anywhere when it begins and when it ends.
std::vector<double> bounds_of_phases(const Problem& problem);

}  // namespace terrace::model
