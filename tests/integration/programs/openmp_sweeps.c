// Threads sweep their shares of an array in every iteration of a loop, whose only phase is the function.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { k_elements = 1 << 20, k_sweeps = 6 };

__attribute__((noinline)) void sweep(double* a) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < k_elements; ++i) a[i] = 0.5 * a[i] + 1;
}

int main(int argc, char** argv) {
  omp_set_num_threads(argc > 1 ? atoi(argv[1]) : 1);
  double* a = calloc(k_elements, sizeof *a);
  if (!a) return 1;
  for (int i = 0; i < k_sweeps; ++i) sweep(a);
  printf("%.6f\n", a[k_elements - 1]);
  free(a);
  return 0;
}
