// scatter BLOCKS TOUCHES: fills 256 MiB in mappings of 4 MiB (one where BLOCKS is 0), then reads bytes in random
// order; limits.py runs it. Prints a sum, and to standard error the milliseconds of the reads.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static const size_t k_block = 4 << 20;

static unsigned char* map(size_t size) {
  void* const at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) exit(2);
  return at;
}

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec * 1e3 + (double)at.tv_nsec / 1e6;
}

int main(int argc, char** argv) {
  enum { k_count = 64 };
  const int apart = argc > 1 && atoi(argv[1]) != 0;
  const long touches = argc > 2 ? atol(argv[2]) : 20000;
  unsigned char* blocks[k_count];
  unsigned char* const whole = apart ? NULL : map(k_count * k_block);
  for (int i = 0; i < k_count; ++i) {
    blocks[i] = apart ? map(k_block) : whole + (size_t)i * k_block;
    for (size_t at = 0; at < k_block; at += 64) blocks[i][at] = (unsigned char)(i + (int)(at >> 12));
  }
  unsigned long seed = 5, sum = 0;
  const double begun = now();
  for (long i = 0; i < touches; ++i) {
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    sum += blocks[(seed >> 33) % k_count][(seed >> 40) % k_block / 64 * 64];
  }
  fprintf(stderr, "%.3f\n", now() - begun);
  printf("%lu\n", sum);
  return 0;
}
