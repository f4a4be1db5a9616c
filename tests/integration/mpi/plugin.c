// SPDX-License-Identifier: Apache-2.0
// Implements a plug-in that uses MPI, for a program that is not linked with it and loads the plug-in with
// RTLD_LOCAL.
#include <mpi.h>
#include <stdio.h>

#include "called.h"

int run_plugin(void) {
  int rank = 0, size = 0, sum = 0;
  CALL(Init, NULL, NULL);
  CALL(Comm_rank, MPI_COMM_WORLD, &rank);
  CALL(Comm_size, MPI_COMM_WORLD, &size);
  for (int i = 0; i < 5; ++i) MOVE(Allreduce, 4, 4, &rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, sum %d\n", size, sum);
  CALL(Finalize);
  write_calls();
  return 0;
}
