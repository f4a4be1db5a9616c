/* Runs the steps of heat and prints a checksum of its arrays. */
#include <stdio.h>
#include <stdlib.h>

#include "heat.h"

int main(int argc, char** argv) {
  const int steps = argc > 1 ? atoi(argv[1]) : 10;
  double* temperature = new_temperature();
  double* history = new_history();
  if (history == NULL) return 1;
  fill_table();
  for (int step = 0; step < steps; ++step) {
    heat_cells(temperature);
    record_history(history, temperature);
    exchange_boundary();
  }
  printf("heat: %d steps, checksum %.0f\n", steps, sum(temperature, CELLS) + sum(history, CELLS) + boundary_sum());
  free(history);
  free(temperature);
  return 0;
}
