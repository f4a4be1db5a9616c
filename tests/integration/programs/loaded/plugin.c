/* A plug-in that uses OpenMP: a team of three threads, a lock, a barrier, a section and a loop. Returns 10306. */
#include <omp.h>

int work(void) {
  int sum = 0;
  omp_lock_t lock;
  omp_init_lock(&lock);
#pragma omp parallel num_threads(3)
  {
    omp_set_lock(&lock);
    sum += omp_get_thread_num() + 1;
    omp_unset_lock(&lock);
#pragma omp barrier
#pragma omp critical
    sum += 100;
#pragma omp barrier
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 10; ++i) {
#pragma omp atomic
      sum += 1000;
    }
  }
  omp_destroy_lock(&lock);
  return sum;
}
