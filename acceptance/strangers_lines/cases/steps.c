// Runs 200 MPI steps on one rank, for limits.py: a stencil over 256 KiB, and a sum over all ranks. Prints the sum.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 1 << 15, steps = 200 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double* const x = malloc(n * sizeof *x);
  double sum = 0;
  for (int i = 0; i < n; ++i) x[i] = i % 17;
  for (int step = 0; step < steps; ++step) {
    double own = 0;
    for (int i = 1; i < n - 1; ++i) own += x[i] = 0.25 * x[i - 1] + 0.5 * x[i] + 0.25 * x[i + 1];
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  printf("%.6e\n", sum);
  free(x);
  return MPI_Finalize();
}
