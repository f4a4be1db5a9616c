// SPDX-License-Identifier: Apache-2.0
// Computes a lower bound of a whole loop from the problem of its usual iteration. The Python bindings call it for
// `terrace bounds`.
//
// Iterations of a loop differ: the last iteration of a detected loop may end early, and others run on. A bound of
// the usual iteration is no bound of the mean one. Here each phase counts with the share of it that the mean
// iteration runs, and data may be anywhere when the loop begins and when it ends.
//
// Time that the estimates leave unexplained is no part of the bound: fast memory may serve accesses that no sample
// met. Sampled counts have errors, and the bound is lowered by them: `stated` comes from resamples
// (resampling.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "model/lower_bound.hpp"
#include "model/problem.hpp"

namespace terrace::model {

inline constexpr double k_bound_confidence = 0.99;

struct LoopBound {
  double seconds = 0;  // of the mean iteration, by the original samples
  // Below the bound that exact counters would give, at k_bound_confidence and as far as sampling errs: `seconds`
  // less the resamples' standard error by a quantile, but at least `core`. `seconds` for exact problems.
  double stated = 0;
  double core = 0;  // time of the mean iteration that no memory shortens
};

// Returns the bound of a loop of `iterations` iterations. `shares`: by phase, the share of its time that the mean
// iteration runs (0 to 1). `warm`: the same share with caches as warm as in the loop; the excess of `shares` over
// it is time of misses, because iterations were observed with colder caches. `prices`: as lower_bound() found them
// for the problem. Throws Error{invalid} where there are more or fewer shares than phases.
LoopBound loop_bound(const Problem& problem, const std::vector<double>& shares, const std::vector<double>& warm,
                     std::uint32_t iterations, const Multipliers& prices);

// Returns, by phase, the lower bound of the phase alone, with free placements at its start and end.
std::vector<double> bounds_of_phases(const Problem& problem);

}  // namespace terrace::model
