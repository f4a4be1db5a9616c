/* The cells: temperature is passed over PASSES times a step, history once. */
#include <stdlib.h>

#include "heat.h"

double* new_temperature(void) {
  double* temperature = xmalloc(CELLS * sizeof(double));
  for (size_t i = 0; i < CELLS; ++i) temperature[i] = (double)(i % 16);
  return temperature;
}

double* new_history(void) { return calloc(CELLS, sizeof(double)); }

__attribute__((noinline)) void heat_cells(double* temperature) {
  for (int pass = 0; pass < PASSES; ++pass) {
    for (size_t i = 0; i < CELLS; ++i) temperature[i] += 1.0;
  }
}

__attribute__((noinline)) void record_history(double* history, const double* temperature) {
  for (size_t i = 0; i < CELLS; ++i) history[i] += temperature[i];
}

double sum(const double* values, size_t count) {
  double total = 0.0;
  for (size_t i = 0; i < count; ++i) total += values[i];
  return total;
}
