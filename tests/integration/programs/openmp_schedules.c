/* OpenMP with all schedules and most constructs: static, dynamic, guided, critical, named critical, atomic, locks,
   single with copyprivate, sections, reductions, barriers, tasks. The argument is the number of threads. Prints
   sums that are independent of the order of execution, and each thread's share of the dynamic loop. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 400000 };

int main(int count, char** words) {
  const int threads = count > 1 ? atoi(words[1]) : 2;
  double* data = malloc(N * sizeof *data);
  long by_thread[64] = {0};
  double fixed = 0, shared = 0, guided = 0;
  long entered = 0, named = 0, locked = 0, tasks = 0, parts = 0;
  omp_lock_t lock;
  omp_init_lock(&lock);
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static)
    for (int i = 0; i < N; ++i) data[i] = 1;
#pragma omp for schedule(static) reduction(+ : fixed)
    for (int i = 0; i < N; ++i) fixed += data[i];
#pragma omp for schedule(dynamic, 1000) reduction(+ : shared)
    for (int i = 0; i < N; ++i) {
      shared += data[i];
      if (i % 7 == 0) data[i / 2] = 1;
      by_thread[omp_get_thread_num()]++;
    }
#pragma omp for schedule(guided) reduction(+ : guided)
    for (int i = 0; i < N; ++i) guided += data[i];
    double* copy = NULL;
#pragma omp single copyprivate(copy)
    copy = data;
    double mine = copy[omp_get_thread_num()];
    for (int round = 0; round < 20; ++round) {
#pragma omp critical
      entered += (long)mine;
#pragma omp critical(other)
      named += (long)mine;
      omp_set_lock(&lock);
      locked += (long)mine;
      omp_unset_lock(&lock);
#pragma omp barrier
    }
#pragma omp sections
    {
#pragma omp section
#pragma omp atomic
      parts += 1;
#pragma omp section
#pragma omp atomic
      parts += 2;
    }
#pragma omp single
    for (int i = 0; i < 10; ++i) {
#pragma omp task
#pragma omp atomic
      tasks += 1;
    }
#pragma omp taskwait
  }
  omp_destroy_lock(&lock);
  printf("%.0f %.0f %.0f; %ld %ld %ld a thread; %ld %ld; dynamic:", fixed, shared, guided, entered / threads,
         named / threads, locked / threads, parts, tasks);
  for (int i = 0; i < threads; ++i) printf(" %ld", by_thread[i]);
  printf("\n");
  free(data);
  return 0;
}
