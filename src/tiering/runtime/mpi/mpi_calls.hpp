// SPDX-License-Identifier: Apache-2.0
// Defines the MPI calls that phases and iterations are derived from (mpi_loop_finder.hpp). The agent's MPI monitor
// fills them in.
#pragma once

#include <cstdint>

#include "core/units.hpp"

namespace terrace::runtime {

// Number of a call path: the return addresses from an MPI call outwards to main(). Equal numbers are equal paths.
using CallPath = std::uint32_t;

// Identifies a loop of the program's code by the address of its header.
using LoopHead = std::uint64_t;

// Set in the heads of loops whose iterations are all reported without a probe (python_loops.hpp). They have no
// address.
inline constexpr LoopHead k_reported_head = LoopHead{1} << 63;
// Set in the heads of loops whose iterations are reported by calls of MPI, from when the loop is known on.
inline constexpr LoopHead k_called_head = LoopHead{1} << 62;

struct MpiCallEvent {
  CallPath path = 0;
  // Whether the call ends a phase and is one: a wait, a blocking point-to-point or a collective call. Other calls
  // belong to the phase that follows (Wu, Huang, Li: Unimem, SC '17, section 3.1.2).
  bool ends_phase = false;
  Seconds begin, end;
};

}  // namespace terrace::runtime
