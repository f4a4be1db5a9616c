// A library that uses OpenMP: a reduction in a parallel loop, and with -DLOCKS locks, critical sections and
// atomics.
#ifdef LOCKS
#include <omp.h>
#endif

double reduce(const double* x, long n) {
#ifdef LOCKS
  omp_lock_t lock;
  omp_init_lock(&lock);
  double total = 0;
  long seen = 0;
#pragma omp parallel for schedule(dynamic, 4096)
  for (long i = 0; i < n; i += 64) {
    omp_set_lock(&lock);
    total += x[i];
    omp_unset_lock(&lock);
#pragma omp critical
    ++seen;
  }
  omp_destroy_lock(&lock);
  return total + (double)seen;
#else
  double total = 0;
#pragma omp parallel for reduction(+ : total)
  for (long i = 0; i < n; ++i) total += x[i];
  return total;
#endif
}
