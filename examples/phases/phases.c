/* Jacobi iterations and a residual: annotates two phases of a main loop, and names two arrays, by terrace.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <terrace/terrace.h>

enum { points = 1 << 19, iterations = 8 };

int main(void) {
  double* u = terrace_malloc("u", points * sizeof *u);
  double* next = terrace_malloc("next", points * sizeof *next);
  if (!u || !next) {
    fprintf(stderr, "phases: %s\n", terrace_last_error());
    return 1;
  }
  for (long i = 0; i < points; ++i) u[i] = next[i] = i == 0 ? 1.0 : 0.0;

  double change = 0;
  terrace_loop_begin("main");
  for (int iteration = 0; iteration < iterations; ++iteration) {
    terrace_phase("smooth");
    for (long i = 1; i < points - 1; ++i) next[i] = 0.5 * (u[i - 1] + u[i + 1]);
    terrace_phase("residual");
    change = 0;
    for (long i = 0; i < points; ++i) change = fmax(change, fabs(next[i] - u[i]));
    double* const swapped = u;
    u = next;
    next = swapped;
  }
  terrace_loop_end();
  printf("largest change of the last iteration: %.4f\n", change);
  terrace_free(u);
  terrace_free(next);
  return 0;
}
