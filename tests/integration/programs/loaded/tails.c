/* A plug-in with three threads whose OpenMP calls are tail calls, which the compiler
   turns into jumps: the library returns to code that did not call it. Returns 61286. */
#include <omp.h>

static omp_lock_t g_lock;
static int g_sum;
static long double g_sections;

__attribute__((noinline)) static void lock(void) { omp_set_lock(&g_lock); }
__attribute__((noinline)) static void unlock(void) { omp_unset_lock(&g_lock); }
__attribute__((noinline)) static void wait_for_all(void) {
#pragma omp barrier
}
__attribute__((noinline)) static void share(void) {
#pragma omp for schedule(dynamic)
  for (int i = 0; i < 10; ++i) {
#pragma omp critical(second)
    g_sum += 1000;
  }
}
__attribute__((noinline)) static void add_hundred(void) {
#pragma omp critical
  g_sum += 100;
}
__attribute__((noinline)) static void region(void) {
#pragma omp parallel num_threads(3)
  {
    lock();
    g_sum += omp_get_thread_num() + 1;
    unlock();
    wait_for_all();
    add_hundred();
    share();
#pragma omp atomic
    g_sections += 10;
  }
}

int work(void) {
  long a = 0, b = 0;
  g_sum = 0;
  g_sections = 0;
  omp_init_lock(&g_lock);
  region();
#pragma omp parallel for num_threads(3) reduction(+ : a, b)
  for (int i = 0; i < 100; ++i) {
    a += i;
    b += 460;
  }
  omp_destroy_lock(&g_lock);
  return g_sum + (int)g_sections + (int)(a + b);
}

/* A parallel region as a tail call, too; its sum is checked afterwards. */
void work_last(void) {
  g_sum = 0;
  omp_init_lock(&g_lock);
  region();
}
int sum(void) { return g_sum; }
