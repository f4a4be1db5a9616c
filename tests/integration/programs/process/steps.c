/* A typical time loop: initialisation with loops, then steps of two inlined sweeps and one in a function, and a
   print every few steps, which the compiler moves away. With MARKED it has explicit markers; with BRIEF a long
   sweep follows, so that the steps are a small part of the run. */
#include <stdio.h>
#include <stdlib.h>

#ifdef MARKED
void terrace_loop_begin(const char* name); /* as terrace.h has them */
void terrace_loop_end(void);
void terrace_phase(const char* name);
#else
#define terrace_loop_begin(name)
#define terrace_loop_end()
#define terrace_phase(name)
#endif

enum { N = 1 << 16, STEPS = 24, EVERY = 5 };

static double* made(void) {
  double* const field = malloc(N * sizeof *field);
  for (int i = 0; i < N; ++i) field[i] = 1.0 / (1 + i % 7);
  return field;
}

static __attribute__((noipa)) double norm(const double* field) {
  double sum = 0;
  for (int i = 0; i < N; ++i) sum += field[i] * field[i];
  return sum;
}

int main(void) {
  double* const now = made();
  double* const next = made();
  terrace_loop_begin("steps");
  for (int step = 1; step <= STEPS; ++step) {
    terrace_phase("forth");
    for (int i = 1; i + 1 < N; ++i) next[i] = 0.25 * (now[i - 1] + 2 * now[i] + now[i + 1]);
    terrace_phase("back");
    for (int i = 1; i + 1 < N; ++i) now[i] += 0.5 * (next[i] - now[i]);
    terrace_phase("norm");
    const double size = norm(now);
    if (step % EVERY == 0) printf("%d %.6f\n", step, size);
  }
  terrace_loop_end();
#ifdef BRIEF
  double sum = 0;
  for (long i = 0; i < 16L * STEPS * N; ++i) sum += now[i % N];
  printf("%.6f\n", sum);
#endif
  free(next);
  free(now);
  return 0;
}
