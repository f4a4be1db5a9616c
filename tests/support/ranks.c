// Prints its number of ranks and a sum over all of them; then waits for so many seconds as its argument says.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  enum { count = 1 << 15 };
  double* const own = malloc(count * sizeof *own);
  double* const sum = malloc(count * sizeof *sum);
  for (int i = 0; i < count; ++i) own[i] = (double)i * (rank + 1);
  MPI_Allreduce(own, sum, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("ranks %d\nsum %.0f\n", ranks, sum[count - 1]);
  fflush(stdout);
  if (argc > 1) sleep((unsigned)atoi(argv[1]));
  MPI_Finalize();
  return 0;
}
