// Uses one part of its data eight times as often as the other. wrong_plan.py runs it out of core,
// where an iteration takes a second or more.
//
//   wrong_plan HOT COLD ITERATIONS    MiB; writes each iteration's seconds, and a sum at the end that no placement
//   changes
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { k_mib = 1 << 20, k_often = 8, k_rounds = 24 };

__attribute__((noinline)) static char* make_hot(size_t size) {
  char* block = malloc(size);
  __asm__ volatile("" : "+r"(block));
  return block;
}

__attribute__((noinline)) static char* make_cold(size_t size) {
  char* block = malloc(size);
  __asm__ volatile("" : "+r"(block));
  return block;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static unsigned long sweep(char* block, size_t size) {
  unsigned long sum = 0;
  for (size_t i = 0; i < size; i += sizeof sum) {
    unsigned long value;
    memcpy(&value, block + i, sizeof value);
    value = value * 31 + 7;
    memcpy(block + i, &value, sizeof value);
    sum += value;
  }
  return sum;
}

int main(int count, char** words) {
  if (count != 4) return 2;
  const size_t hot_size = strtoul(words[1], NULL, 10) * k_mib, cold_size = strtoul(words[2], NULL, 10) * k_mib;
  const int iterations = atoi(words[3]);
  char* const hot = make_hot(hot_size);
  char* const cold = make_cold(cold_size);
  if (!hot || !cold) return 1;
  memset(hot, 1, hot_size);
  memset(cold, 2, cold_size);
  unsigned long sum = 0;
  for (int i = 0; i < iterations; ++i) {
    const double begun = now();
    for (int round = 0; round < k_rounds; ++round) {
      for (int k = 0; k < k_often; ++k) sum += sweep(hot, hot_size);
      sum += sweep(cold, cold_size);
    }
    printf("%.6f\n", now() - begun);
    fflush(stdout);
  }
  printf("sum %lu\n", sum);
  return 0;
}
