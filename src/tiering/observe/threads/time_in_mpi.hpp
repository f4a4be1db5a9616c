// SPDX-License-Identifier: Apache-2.0
// Holds the time that the program's main thread has spent inside of MPI calls. The agent's MPI monitor adds to it
// at the end of each call; the runtime reads it at phase boundaries, in the same thread.
#pragma once

#include "core/units.hpp"

namespace terrace::observe {

inline constinit Seconds g_time_in_mpi{};

}  // namespace terrace::observe
