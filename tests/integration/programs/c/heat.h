/* heat: a rod whose cells are heated, with a history of each cell and a boundary. */
#ifndef HEAT_H
#define HEAT_H

#include <stddef.h>

enum { CELLS = 1 << 18, BOUNDARY_CELLS = 1 << 17, TABLE_ENTRIES = 1 << 16, PASSES = 4 };

/* xmalloc.c: malloc that gives up when there is no memory. */
void* xmalloc(size_t size);

/* cells.c */
double* new_temperature(void);
double* new_history(void);
void heat_cells(double* temperature);
void record_history(double* history, const double* temperature);
double sum(const double* values, size_t count);

/* boundary.c */
extern double conductivity[TABLE_ENTRIES];
void fill_table(void);
void exchange_boundary(void);
double boundary_sum(void);

#endif
