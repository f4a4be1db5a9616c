/* scattered_data MAPPINGS TOUCHES: reads single bytes of mappings of 4 MiB each (0: one of 256 MiB) in random
   order. Prints their sum. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { k_max = 64 };
static const size_t k_size = 4 << 20;

static unsigned char* map(size_t size) {
  void* const at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) exit(3);
  return at;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int pieces = atoi(argv[1]);
  unsigned char* at[k_max];
  unsigned char* const whole = pieces == 0 ? map(k_max * k_size) : NULL;
  for (int i = 0; i < k_max; ++i) {
    at[i] = whole ? whole + i * k_size : map(k_size);
    for (size_t j = 0; j < k_size; j += 64) at[i][j] = (unsigned char)(i + j / 64);
  }
  unsigned long state = 1, sum = 0;
  for (int i = atoi(argv[2]); i > 0; --i) {
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    sum += at[(state >> 33) % k_max][(state >> 40) % k_size / 64 * 64];
  }
  printf("%lu\n", sum);
  return 0;
}
