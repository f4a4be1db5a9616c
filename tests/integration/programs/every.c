/* A main loop that allocates in iterations that may be unobserved: from iteration 3 on it uses a block allocated
   there, and much stack. The arguments are the numbers of iterations and threads. Prints a checksum. */
#include <stdio.h>
#include <stdlib.h>
#include <terrace/terrace.h>

enum { LINES = 4096, LINE = 8, DEPTH = 64 };

static double* make_early(void) { return calloc(LINES * LINE, sizeof(double)); }
static double* make_late(void) { return calloc(LINES * LINE, sizeof(double)); }

static double sweep(double* data, double with) {
  double sum = 0;
  for (int line = 0; line < LINES; ++line) sum += data[line * LINE] += with;
  return sum;
}

static double descend(int depth) {
  volatile double room[1024];
  for (int i = 0; i < 1024; ++i) room[i] = depth;
  return depth > 0 ? room[depth] + descend(depth - 1) : room[0];
}

int main(int count, char** words) {
  const int iterations = count > 1 ? atoi(words[1]) : 8;
  const int threads = count > 2 ? atoi(words[2]) : 1;
  double* const early = make_early();
  double* late = NULL;
  double sum = 0;
  terrace_loop_begin("main");
  for (int i = 0; i < iterations; ++i) {
    terrace_phase("sweep");
    sum += sweep(early, i);
    if (i >= 3 && !late) late = make_late();
    if (late) sum += sweep(late, 1) + descend(DEPTH);
#pragma omp parallel for num_threads(threads) reduction(+ : sum)
    for (int line = 0; line < LINES; ++line) sum += early[line * LINE];
  }
  terrace_loop_end();
  printf("%.0f\n", sum);
  free(early);
  free(late);
  return 0;
}
