/* Work inside the regions of the test programs: enough that each region is long enough for a phase on any machine,
   on data that are objects. */
#ifndef WORK_H
#define WORK_H
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Sweeps over the data until half a millisecond has passed. */
static double work(volatile double* data, long count) {
  const double begin = now();
  double sum = 0;
  do
    for (long i = 0; i < count; i += 8) {
      data[i] = data[i] + 1;
      sum += data[i];
    }
  while (now() - begin < 5e-4);
  return sum;
}
#endif
