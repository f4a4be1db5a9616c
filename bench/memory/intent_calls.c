/* Allocates and applies memory by intent through the calls of terrace.h, on a machine that may refuse them.
 *
 *   intent_calls MIB    terrace_alloc of MIB, and terrace_apply to a mapping whose first half has been touched
 *
 * Prints a checksum of both blocks, the same whatever is refused; and on standard error, after "calls: ", why a
 * call did not place its data. acceptance/memory builds and runs it. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <terrace/terrace.h>

static uint64_t fill(uint64_t* words, size_t count, uint64_t seed) {
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) words[i] = (seed + i) * 0x9e3779b97f4a7c15;
  for (size_t i = 0; i < count; ++i) sum = sum * 31 + words[i];
  return sum;
}

int main(int count, char** words) {
  const size_t size = (size_t)(count > 1 ? atol(words[1]) : 64) << 20;
  const size_t half = size / 2 / sizeof(uint64_t);
  uint64_t* const block = terrace_alloc(size, "bandwidth");
  if (!block) return 1;
  if (*terrace_last_error()) fprintf(stderr, "calls: %s\n", terrace_last_error());
  uint64_t* const map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return 1;
  const uint64_t first = fill(map, half, 1);
  if (terrace_apply(map, size, "bandwidth") != TERRACE_OK) fprintf(stderr, "calls: %s\n", terrace_last_error());
  uint64_t sum = 0;
  for (size_t i = 0; i < half; ++i) sum = sum * 31 + map[i];
  if (sum != first) puts("what was there has changed");
  sum ^= fill(map + half, half, 2) ^ fill(block, 2 * half, 3);
  printf("%llx\n", (unsigned long long)sum);
  terrace_free(block);
  return 0;
}
