// SPDX-License-Identifier: Apache-2.0
// Implements a test program one rank of which ends early: by MPI_Abort(7), exit(3), or a signal (`kill`). The
// other ranks wait in MPI_Barrier.
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1 && argc > 1) {
    if (strcmp(argv[1], "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(argv[1], "exit") == 0) exit(3);
    if (strcmp(argv[1], "kill") == 0) raise(SIGKILL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
