/* Calls of libm under the program's own clock. The arguments: how ("bare": a loop without an access of memory,
   "arrays": with two for each call, "threads": bare, in each of two), and how many calls. Prints the section's
   seconds and the sum, both to the last bit. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <terrace/terrace.h>

enum { ELEMENTS = 512 };
static double from[ELEMENTS], to[ELEMENTS];

static double bare(long calls) {
  double sum = 0, x = -1;
  for (long i = 0; i < calls; ++i, x += 1e-7) sum += exp(x);
  return sum;
}

static double arrays(long calls) {
  for (long i = 0; i < calls; ++i) to[i % ELEMENTS] = powf((float)from[i % ELEMENTS], 1.5F);
  return to[1];
}

static void* in_a_thread(void* calls) {
  static double sums[2];
  double* const sum = &sums[(long)calls % 2];
  *sum = bare((long)calls);
  return sum;
}

static double threads(long calls) {
  pthread_t one, two;
  void* sums[2];
  pthread_create(&one, NULL, in_a_thread, (void*)calls);
  pthread_create(&two, NULL, in_a_thread, (void*)(calls + 1));
  pthread_join(one, &sums[0]);
  pthread_join(two, &sums[1]);
  return *(double*)sums[0] + *(double*)sums[1];
}

int main(int count, char** words) {
  const long calls = count > 2 ? atol(words[2]) : 1000;
  double (*const section)(long) = strcmp(words[1], "bare") == 0     ? bare
                                  : strcmp(words[1], "arrays") == 0 ? arrays
                                                                    : threads;
  double seconds = 0, sum = 0;
  for (int i = 0; i < ELEMENTS; ++i) from[i] = i;
  terrace_loop_begin("main");
  for (int pass = 0; pass < 2; ++pass) { /* the caches are warm in the second */
    terrace_phase("calls");
    seconds = terrace_seconds();
    sum = section(calls);
    seconds = terrace_seconds() - seconds;
  }
  terrace_loop_end();
  printf("%.17g %.17g\n", seconds, sum);
  return 0;
}
