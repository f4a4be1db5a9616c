/* Parallel regions only; for a compiler whose OpenMP runtime has OMPT. */
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

static void smooth(double* data, long count) {
#pragma omp parallel for
  for (long part = 0; part < 4; ++part) work(data + part * (count / 4), count / 4);
}

static double reduce(double* data, long count) {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (long part = 0; part < 4; ++part) sum += work(data + part * (count / 4), count / 4);
  return sum;
}

int main(void) {
  const long count = 1 << 16;
  double* const data = calloc(count, sizeof *data);
  double sum = 0;
  for (int step = 0; step < 6; ++step) {
    smooth(data, count);
    sum += reduce(data, count);
  }
  printf("%d\n", sum > 0);
  free(data);
  return 0;
}
