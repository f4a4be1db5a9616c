// SPDX-License-Identifier: Apache-2.0
// Chooses the phases of a main loop from the MPI calls of some of its iterations. MpiLoopFinder uses it.
//
// A call that ends a phase (MpiCallEvent::ends_phase) is a phase itself, and so is the computation from its end to
// the begin of the next such call. Phases shorter than a minimum do not pay for a boundary: they become part of
// the phase before.
#pragma once

#include <cstddef>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/mpi/mpi_calls.hpp"

namespace terrace::runtime {

// A boundary costs 1 to 2 us, and 2 MiB take longer than such a phase to move.
inline constexpr Seconds k_min_mpi_phase{2e-4};
inline constexpr double k_min_mpi_phase_share = 0.01;  // of an iteration
inline constexpr std::size_t k_max_mpi_phases = 512;   // in an iteration

struct MpiPhaseBoundaries {
  bool at_begin = false;  // the call begins a phase
  bool at_end = false;    // the computation after the call begins one
};

// A complete iteration: it begins with the first of its events, in order.
struct MpiIteration {
  std::span<const MpiCallEvent> events;
  Seconds end;  // begin of the next iteration
};

// Returns the boundaries by call path; paths without one are absent.
std::unordered_map<CallPath, MpiPhaseBoundaries> choose_mpi_phases(std::span<const MpiIteration> iterations);

}  // namespace terrace::runtime
