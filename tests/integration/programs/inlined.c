/* An unmarked main loop whose functions are partly inlined: norm's loop and the last one follow calls of smooth. The
   argument is the number of iterations. Prints a checksum. */
#include <stdio.h>
#include <stdlib.h>

enum { VALUES = 100000 };

static __attribute__((noinline)) void smooth(const double* from, double* to) {
  for (int i = 1; i < VALUES - 1; ++i) to[i] = (from[i - 1] + from[i] + from[i + 1]) / 3;
}

static inline __attribute__((always_inline)) double norm(const double* values, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i] * values[i];
  return sum;
}

int main(int count, char** words) {
  const int iterations = count > 1 ? atoi(words[1]) : 8;
  double* const now = calloc(VALUES, sizeof *now);
  double* const next = calloc(VALUES, sizeof *next);
  double* const weights = calloc(VALUES, sizeof *weights);
  double sum = 0;
  for (int i = 0; i < VALUES; ++i) now[i] = i % 7;
  for (int k = 0; k < iterations; ++k) {
    smooth(now, next);
    smooth(next, now);
    sum += norm(now, VALUES - k % 2);
    for (int i = 0; i < VALUES; ++i) weights[i] += now[i * 64L % VALUES] * 1e-3;
  }
  printf("%g %g\n", sum, weights[5]);
  free(now);
  free(next);
  free(weights);
  return 0;
}
