// A program of another C library: uses 80 MiB, prints a word, ends with status 3.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  const size_t size = 80 << 20;
  char* const data = malloc(size);
  for (size_t i = 0; i < size; i += 4096) data[i] = 1;
  puts(data[4096] == 1 ? "stranger" : "lost");
  return 3;
}
