/* A time loop in a thread that the program creates. The main thread wakes up once meanwhile, and does work of its
   own after the thread has ended. Each step allocates and frees a field. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1 << 18, STEPS = 24 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int is_ready, is_done;
static double result;

static void tell(int* what) {
  pthread_mutex_lock(&mutex);
  *what = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

static void wait_for(const int* what) {
  pthread_mutex_lock(&mutex);
  while (!*what) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
}

static __attribute__((noipa)) double* made(int seed) {
  double* const field = malloc(N * sizeof *field);
  for (int i = 0; i < N; ++i) field[i] = 1.0 / (1 + (i + seed) % 7);
  return field;
}

static __attribute__((noipa)) void smooth(double* next, const double* now) {
  for (int i = 1; i + 1 < N; ++i) next[i] = 0.25 * (now[i - 1] + 2 * now[i] + now[i + 1]);
}

static __attribute__((noipa)) double relax(double* now, const double* next) {
  double sum = 0;
  for (int i = 1; i + 1 < N; ++i) sum += now[i] += 0.5 * (next[i] - now[i]);
  return sum;
}

static void* work(void* nothing) {
  double* const now = made(0);
  tell(&is_ready);
  for (int step = 0; step < STEPS; ++step) {
    double* const next = made(step);
    smooth(next, now);
    result = relax(now, next);
    free(next);
  }
  free(now);
  tell(&is_done);
  return nothing;
}

int main(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, NULL) != 0) return 1;
  wait_for(&is_ready);
  double* const last = made(3);
  wait_for(&is_done);
  pthread_join(thread, NULL);
  for (int i = 0; i < N; ++i) result += last[i];
  free(last);
  printf("%.6f\n", result);
  return 0;
}
