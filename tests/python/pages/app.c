/* Example program of the user pages: ./app MIB smooths a field of that size and looks values up, alternately.
 */
#include <stdio.h>
#include <stdlib.h>

static void smooth(double* to, const double* from, long n) {
  for (long i = 1; i + 1 < n; ++i) to[i] = 0.25 * from[i - 1] + 0.5 * from[i] + 0.25 * from[i + 1];
}

static double look_up(const double* field, const int* where, long n) {
  double sum = 0;
  for (long i = 0; i < n; ++i) sum += field[where[i]];
  return sum;
}

int main(int argc, char** argv) {
  const long mib = argc > 1 ? atol(argv[1]) : 8, n = mib * 131072 / 2, picks = n / 4;
  double* field = calloc(n, sizeof *field);
  double* smoothed = calloc(n, sizeof *smoothed);
  int* where = malloc(picks * sizeof *where);
  if (n == 0 || !field || !smoothed || !where) return 1;
  for (long i = 0; i < n; ++i) field[i] = i % 17;
  unsigned long state = 1;
  for (long i = 0; i < picks; ++i) {
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    where[i] = (int)((state >> 33) % (unsigned long)n);
  }
  double sum = 0;
  for (int iteration = 0; iteration < 10; ++iteration) {
    smooth(smoothed, field, n);
    smooth(field, smoothed, n);
    sum += look_up(field, where, picks);
  }
  printf("sum %.6e\n", sum);
  return 0;
}
