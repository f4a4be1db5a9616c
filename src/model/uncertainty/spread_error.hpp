// Error of the spread of prefetched lines over objects (load_sampling_collector.hpp), which is none of sampling.
//
// Counters say how many lines were prefetched from a place, no counter says of which object. The collector gives
// each object its part by the pages that were touched: each line of them that demand misses do not account for
// counts alike. Some of the objects are not streamed at all, others are streamed several times.
//
// So a draw takes the shares of a phase's prefetched lines from a Dirichlet distribution about the collector's.
// Its mean is the collector's share w for the most part, and for k_evened of it even over the objects and one
// more, which stands for memory that was not seen: small shares may be far too small, and lines may be nobody's.
// An object's random numbers are the same in all phases, since what a program does with it is. The sum of a place
// has no error.
//
// Both constants are fitted to this project's own workloads, recorded by default, and to nothing else: of the
// objects there that are worth more than 1 % of an iteration, 90 % of the stated intervals (57 of 63) hold the
// benefit from exact counters. With a concentration of 3 and nothing evened, 81 % did; by sampling alone, 75 %.
#pragma once

#include <cstdint>

#include "model/problem.hpp"
#include "model/uncertainty/sampling_error.hpp"

namespace terrace::model {

inline constexpr double k_concentration = 1;
inline constexpr double k_evened = 0.3;

// Whether any object has prefetched lines that could be another's.
bool has_spread(const Problem& problem);

// Shares out the prefetched lines of each phase anew. The same number always gives the same problem. Does nothing
// where the problem is exact or no lines are told to be prefetched.
void redraw_spread(Problem& problem, std::uint64_t number);

// Returns what the problem might have been, by both errors.
Problem draw_truth(const SamplingError& error, std::uint64_t number);

}  // namespace terrace::model
