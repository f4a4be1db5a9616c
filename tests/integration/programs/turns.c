// A program whose access pattern changes: two arrays, one swept eight times in an iteration and the other once,
// and after EVERY iterations the other way round. turns [ITERATIONS [EVERY [FROM]]]: from iteration FROM on.
#include <stdio.h>
#include <stdlib.h>

enum { k_cells = 32768 };

__attribute__((noinline)) static void often(long* cells) {
  for (int sweep = 0; sweep < 8; ++sweep)
    for (int i = 0; i < k_cells; ++i) ++cells[i];
}

__attribute__((noinline)) static void seldom(long* cells) {
  for (int i = 0; i < k_cells; ++i) ++cells[i];
}

int main(int argc, char** argv) {
  const int iterations = argc > 1 ? atoi(argv[1]) : 120;
  const int every = argc > 2 ? atoi(argv[2]) : 60;
  const int from = argc > 3 ? atoi(argv[3]) : 0;
  long* const first = calloc(k_cells, sizeof *first);
  long* const second = calloc(k_cells, sizeof *second);
  if (!first || !second) return 1;
  for (int n = 0; n < iterations; ++n) {
    const int turned = (from + n) / every % 2;
    often(turned ? second : first);
    seldom(turned ? first : second);
  }
  long sum = 0;
  for (int i = 0; i < k_cells; ++i) sum += 3 * first[i] + second[i];
  printf("turns: %d iterations, checksum %ld\n", iterations, sum);
  free(first);
  free(second);
  return 0;
}
