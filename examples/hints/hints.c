/* A sparse matrix-vector product: hints.toml states how often it refers to each array, before any run. */
#include <stdio.h>
#include <stdlib.h>

enum { rows = 20000, per_row = 12, iterations = 10 };

int main(void) {
  const long nonzeros = (long)rows * per_row;
  double* const values = malloc(nonzeros * sizeof *values);
  int* const columns = malloc(nonzeros * sizeof *columns);
  double* const x = malloc(rows * sizeof *x);
  double* const y = malloc(rows * sizeof *y);
  if (!values || !columns || !x || !y) return 1;
  for (long k = 0; k < nonzeros; ++k) {
    values[k] = 1.0 / per_row;
    columns[k] = (int)(k * 7919 % rows);
  }
  for (long i = 0; i < rows; ++i) x[i] = 1.0;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    for (long i = 0; i < rows; ++i) {
      double sum = 0;
      for (long k = i * per_row; k < (i + 1) * per_row; ++k) sum += values[k] * x[columns[k]];
      y[i] = sum;
    }
    for (long i = 0; i < rows; ++i) x[i] = y[i];
  }
  printf("x[0] = %.3f\n", x[0]);
  free(values);
  free(columns);
  free(x);
  free(y);
  return 0;
}
