// Stencil programs on several processes, which talk by MPI.
//
//   MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
//   {
//     auto context = terrace::stencil::distributed(MPI_COMM_WORLD);
//     ...
//   }
//   MPI_Finalize();
//
// The program is that for one process, and its results are the same to the last bit. Each process, a rank,
// computes a part of each block: of z, of y, or of both. Before a chain ranks exchange what it needs, once, and
// compute points near their borders more than once instead of exchanging again. A chain that needs more layers
// than the narrowest part has is run in pieces.
//
// All ranks do all calls with the same arguments: loops, Dataset::get(), which gives the numbers of all ranks,
// Dataset::set(), of which each rank keeps its part, Reduction::value(). What an error ends on one rank the others
// wait for: end the program by MPI_Abort().
#pragma once

#include <mpi.h>

#include "terrace/stencil.hpp"

namespace terrace::stencil {

// The context of one of the communicator's processes. It uses a copy of the communicator, and MPI by the calling
// thread alone; MPI has to be there until it has ended. Options are those of one rank: `memory` is what each may
// take, and `threads` how many each has, which is best said where several ranks are on a machine.
[[nodiscard]] Context distributed(MPI_Comm communicator, const Options& options = Options::from_environment());

}  // namespace terrace::stencil
