/* Implements xmalloc: an allocation wrapper, so that call sites of malloc do not identify objects. */
#include <stdio.h>
#include <stdlib.h>

#include "heat.h"

void* xmalloc(size_t size) {
  void* memory = malloc(size);
  if (memory == NULL) {
    fprintf(stderr, "heat: no memory for %zu bytes\n", size);
    exit(1);
  }
  return memory;
}
