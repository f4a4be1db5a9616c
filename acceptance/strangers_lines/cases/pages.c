// pages MIB ROUNDS [ALIGNMENT]: writes one word to each page of a block of MIB MiB, ROUNDS times; limits.py runs
// it. With an ALIGNMENT the block is aligned to it. With 0 ROUNDS it writes once and aborts. Prints a sum.
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  const size_t size = (argc > 1 ? strtoul(argv[1], NULL, 0) : 64) << 20;
  const long rounds = argc > 2 ? atol(argv[2]) : 1;
  const size_t alignment = argc > 3 ? strtoul(argv[3], NULL, 0) : 0;
  unsigned char* const block = alignment ? aligned_alloc(alignment, size) : malloc(size);
  if (!block) return puts("no block"), 0;
  if (alignment && (size_t)block % alignment != 0) return puts("not aligned"), 1;
  unsigned long sum = 0;
  for (long round = 0; round < (rounds ? rounds : 1); ++round)
    for (size_t at = 0; at < size; at += 4096) sum += (unsigned long)(block[at] += (unsigned char)(at >> 12)) + 1;
  if (!rounds) abort();
  printf("%lu\n", sum);
  return 0;
}
