/* Has weak references to functions of libraries that it is not linked with, and prints which exist.
   Calls a lock if there is one. */
#include <stdio.h>

#pragma GCC diagnostic ignored "-Wbuiltin-declaration-mismatch"
void omp_set_lock(void*) __attribute__((weak));
void omp_init_lock(void*) __attribute__((weak));
void GOMP_barrier(void) __attribute__((weak));
void cali_begin_region(const char*) __attribute__((weak));
double exp(double) __attribute__((weak));

/* Also in memory that is read-only after relocation. */
static void (*const g_barrier)(void) = GOMP_barrier;

#ifdef PLUGIN
int work(void) {
#else
int main(void) {
#endif
  long lock[16];
  if (omp_init_lock) omp_init_lock(lock);
  if (omp_set_lock) omp_set_lock(lock);
  printf("%d%d%d%d%d\n", omp_set_lock != 0, GOMP_barrier != 0, g_barrier != 0, cali_begin_region != 0, exp != 0);
  return 0;
}
