/* An unmarked main loop of inlined loops and calls. BODY defines their order in an iteration; the argument is
   the number of iterations. Prints a checksum. */
#include <stdio.h>
#include <stdlib.h>

enum { VALUES = 60000 };

static __attribute__((noinline)) void smooth(const double* from, double* to) {
  for (int i = 1; i < VALUES - 1; ++i) to[i] = (from[i - 1] + from[i] + from[i + 1]) / 3;
}

static inline __attribute__((always_inline)) double norm(const double* values, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i] * values[i];
  return sum;
}

static inline __attribute__((always_inline)) void gather(const double* from, double* to) {
  for (int i = 0; i < VALUES; ++i) to[i] += from[i * 64L % VALUES] * 1e-3;
}

int main(int count, char** words) {
  const int iterations = count > 1 ? atoi(words[1]) : 8;
  double* const now = calloc(VALUES, sizeof *now);
  double* const next = calloc(VALUES, sizeof *next);
  double* const weights = calloc(VALUES, sizeof *weights);
  double sum = 0;
  for (int i = 0; i < VALUES; ++i) now[i] = i % 7;
  for (int k = 0; k < iterations; ++k) {
#if BODY == 1
    gather(now, weights);
#elif BODY == 2
    smooth(now, next);
    gather(next, weights);
#elif BODY == 3
    gather(now, weights);
    smooth(now, next);
    sum += norm(next, VALUES - k % 2);
#elif BODY == 4
    if (words[0][0] != 0) gather(now, weights);
    sum += norm(weights, VALUES);
#else
    smooth(now, next);
    smooth(next, now);
    sum += norm(now, VALUES - k % 2);
    gather(now, weights);
#endif
  }
  printf("%g %g %g\n", sum, next[7], weights[5]);
  free(now);
  free(next);
  free(weights);
  return 0;
}
