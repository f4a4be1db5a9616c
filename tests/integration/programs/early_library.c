/* A library whose constructor allocates the first large block of the process, as linear algebra libraries do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void __attribute__((constructor)) begin(void) {
  const size_t size = (size_t)16 << 20;
  unsigned char* const block = malloc(size);
  unsigned long sum = 0;
  if (!block) exit(3);
  memset(block, 1, size);
  for (size_t i = 0; i < size; i += 4096) sum += block[i];
  free(block);
  printf("library %lu\n", sum);
}
