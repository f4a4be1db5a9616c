/* threads SWEEPS: two threads at a time, repeatedly created; one solves in a library, one by itself. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "solver.h"

enum { n = 1 << 14 };
static double values[n];
static long sweeps;

static void* in_library(void* result) {
  *(double*)result = solve(values, n, sweeps);
  return NULL;
}

static void* by_itself(void* result) {
  double sum = 0;
  for (long i = 0; i < n; ++i) sum += values[i];
  *(double*)result = sum;
  return NULL;
}

int main(int count, char** words) {
  sweeps = count > 1 ? atol(words[1]) : 1;
  for (long i = 0; i < n; ++i) values[i] = (double)i;
  double sum = 0;
  for (int i = 0; i < 8; ++i) {
    pthread_t threads[2];
    double results[2];
    pthread_create(&threads[0], NULL, in_library, &results[0]);
    pthread_create(&threads[1], NULL, by_itself, &results[1]);
    for (int t = 0; t < 2; ++t) pthread_join(threads[t], NULL);
    sum += results[0] + results[1];
  }
  printf("%.17g\n", sum);
  return 0;
}
