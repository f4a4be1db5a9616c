/* SPDX-License-Identifier: Apache-2.0
 * Measures the time of an MPI call in a program whose main loop and phases Terrace follows, for cost.py. Each
 * iteration has calls that return at once, and then computes. Prints nanoseconds a call of MPI_Comm_rank and of a
 * send to MPI_PROC_NULL: medians of the second half of the iterations. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { k_iterations = 400, k_calls = 2000, k_doubles = 1 << 20 };

__attribute__((noinline)) static double ask_for_rank(void) {
  int rank;
  const double begin = MPI_Wtime();
  for (int i = 0; i < k_calls; ++i) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return MPI_Wtime() - begin;
}

__attribute__((noinline)) static double send_to_nobody(void) {
  int value = 1;
  const double begin = MPI_Wtime();
  for (int i = 0; i < k_calls; ++i) MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  return MPI_Wtime() - begin;
}

__attribute__((noinline)) static double compute(const double* values) {
  double sum = 0;
  for (int i = 0; i < k_doubles; ++i) sum += values[i];
  return sum;
}

static int compare(const void* one, const void* other) {
  const double a = *(const double*)one, b = *(const double*)other;
  return a < b ? -1 : a > b;
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, compare);
  return values[count / 2];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double* values = malloc(k_doubles * sizeof *values);
  for (int i = 0; i < k_doubles; ++i) values[i] = 1e-6;
  static double rank[k_iterations], send[k_iterations];
  double sum = 0;
  for (int i = 0; i < k_iterations; ++i) {
    rank[i] = ask_for_rank();
    send[i] = send_to_nobody();
    sum += compute(values);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  const int half = k_iterations / 2;
  const double of_rank = 1e9 * median(rank + half, half) / k_calls;
  const double of_send = 1e9 * median(send + half, half) / k_calls;
  printf("%.2f %.2f %g\n", of_rank, of_send, sum);
  free(values);
  return MPI_Finalize();
}
