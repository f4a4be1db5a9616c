/* The boundary: a static array, and a global table that is read with a stride. */
#include "heat.h"

double conductivity[TABLE_ENTRIES];
static double boundary[BOUNDARY_CELLS];

void fill_table(void) {
  for (size_t i = 0; i < TABLE_ENTRIES; ++i) conductivity[i] = (double)(i % 4);
}

/* 37 is odd and the table's size a power of two, so each entry is read equally often. */
__attribute__((noinline)) void exchange_boundary(void) {
  for (size_t i = 0; i < BOUNDARY_CELLS; ++i) boundary[i] += conductivity[i * 37 % TABLE_ENTRIES];
}

double boundary_sum(void) { return sum(boundary, BOUNDARY_CELLS); }
