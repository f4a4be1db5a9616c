// SPDX-License-Identifier: Apache-2.0
// Implements a library with a few functions of MPI for tests of the layer without an MPI installation: functions
// that return a checksum of their arguments, that call other functions by their public names, and that call back.
#include <stdint.h>

static int64_t checksum(const int64_t* values, int count) {
  uint64_t sum = 0;  // wraps
  for (int i = 0; i < count; ++i) sum = sum * 31 + (uint64_t)values[i];
  return (int64_t)sum;
}

int64_t MPI_Rget_accumulate(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int64_t h,
                            int64_t i, int64_t j, int64_t k, int64_t l, int64_t m) {
  const int64_t values[] = {a, b, c, d, e, f, g, h, i, j, k, l, m};
  return checksum(values, 13);
}

int64_t mpi_rget_accumulate_(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g,
                             int64_t h, int64_t i, int64_t j, int64_t k, int64_t l, int64_t m, int64_t n) {
  const int64_t values[] = {a, b, c, d, e, f, g, h, i, j, k, l, m, n};
  return checksum(values, 14);
}

int PMPI_Comm_rank(int64_t comm, int* rank) {
  *rank = (int)comm;
  return 0;
}
int MPI_Comm_rank(int64_t comm, int* rank) { return PMPI_Comm_rank(comm, rank); }

// Calls other functions, as MPICH's Fortran interface and Open MPI's do.
int MPI_Barrier(int64_t comm) {
  int rank = 0;
  return MPI_Comm_rank(comm, &rank) + PMPI_Comm_rank(comm, &rank);
}

// Calls back, as a reduction does.
int MPI_Reduce_local(void (*function)(void*), void* argument) {
  function(argument);
  return 0;
}
