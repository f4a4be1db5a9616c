/* readers: one half of its threads compute, the other half read the clock after every few accesses. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 4, TURNS = 300000, CELLS = 1 << 16 };

static void* compute(void* data) {
  int* const cells = data;
  for (int turn = 0; turn < 100; ++turn)
    for (int i = 0; i < CELLS; ++i) cells[i] += 1;
  return NULL;
}

static void* read_clock(void* data) {
  int* const cells = data;
  struct timespec now;
  for (int turn = 0; turn < TURNS; ++turn) {
    cells[turn % CELLS] += 1;
    clock_gettime(CLOCK_MONOTONIC, &now);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  int* const cells = calloc(THREADS * CELLS, sizeof *cells);
  for (int i = 0; i < THREADS; ++i)
    pthread_create(&threads[i], NULL, i % 2 ? read_clock : compute, cells + i * CELLS);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  long sum = 0;
  for (int i = 0; i < THREADS * CELLS; ++i) sum += cells[i];
  printf("%ld\n", sum);
  free(cells);
  return 0;
}
