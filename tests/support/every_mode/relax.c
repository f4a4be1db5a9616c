// A set-up of many short loops, then five steps; each goes through all lines of a field twice, by way of a short
// line of its own, so that the loops within a step repeat thousands of times. Prints a sum of each step.
#include <stdio.h>
#include <stdlib.h>

enum { n = 512, steps = 5 };

static void along(double* field, double* line, int stride, int step) {
  for (int i = 0; i < n; ++i) {
    double* const first = field + (size_t)i * step;
    for (int k = 0; k < n; ++k) line[k] = first[(size_t)k * stride];
    for (int k = 1; k < n - 1; ++k) line[k] = 0.25 * line[k - 1] + 0.5 * line[k] + 0.25 * line[k + 1];
    for (int k = 0; k < n; ++k) first[(size_t)k * stride] = line[k];
  }
}

int main(void) {
  double* const field = malloc(sizeof *field * n * n);
  double* const before = malloc(sizeof *before * n * n);
  double* const line = malloc(sizeof *line * n);
  unsigned long seed = 7;
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n; ++k) {
      seed = seed * 6364136223846793005ul + 1442695040888963407ul;
      field[i * n + k] = (double)(seed >> 40) / (1 << 24);
    }
  for (int step = 0; step < steps; ++step) {
    double change = 0;
    for (int i = 0; i < n * n; ++i) before[i] = field[i];
    along(field, line, 1, n);
    along(field, line, n, 1);
    for (int i = 0; i < n * n; ++i) change += (field[i] - before[i]) * (field[i] - before[i]);
    printf("%d %.10e\n", step, change);
  }
  return 0;
}
