/* spin THREADS: polls every clock for 0.1 ms, in code without hooks, on this many additional threads. Prints the
 * number of clocks. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

static double by_clock(void) { return (double)clock() / CLOCKS_PER_SEC; }
static double by_day(void) {
  struct timeval now;
  gettimeofday(&now, NULL);
  return (double)now.tv_sec + 1e-6 * (double)now.tv_usec;
}
static double by_monotonic(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
static double by_usage(void) {
  struct rusage now;
  getrusage(RUSAGE_SELF, &now);
  return (double)(now.ru_utime.tv_sec + now.ru_stime.tv_sec) +
         1e-6 * (double)(now.ru_utime.tv_usec + now.ru_stime.tv_usec);
}

static void* spin(void* count) {
  double (*const clocks[])(void) = {by_clock, by_day, by_monotonic, by_usage};
  for (int i = 0; i < 4; ++i) {
    const double begun = clocks[i]();
    while (clocks[i]() - begun < 1e-4) continue;
    ++*(int*)count;
  }
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[4];
  int counts[5] = {0}, sum = 0;
  const int more = argc > 1 ? atoi(argv[1]) : 0;
  for (int i = 0; i < more; ++i) pthread_create(&threads[i], NULL, spin, &counts[i]);
  spin(&counts[4]);
  for (int i = 0; i < more; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 5; ++i) sum += counts[i];
  printf("%d\n", sum);
  return 0;
}
