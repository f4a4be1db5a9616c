/* What libraries.c loads: a shared library with state, a constructor and a destructor. */
#include <stdlib.h>

static int* numbers;
static int* told;

__attribute__((constructor)) static void begin(void) {
  numbers = malloc(100000 * sizeof *numbers);
  for (int i = 0; i < 100000; ++i) numbers[i] = i;
}

__attribute__((destructor)) static void end(void) {
  free(numbers);
  if (told != NULL) *told = 1;
}

/* The sum of the first `count` numbers. Sets *unloaded once the library is. */
long plugin_sum(int count, int* unloaded) {
  long sum = 0;
  told = unloaded;
  for (int i = 0; i < count; ++i) sum += numbers[i];
  return sum;
}
