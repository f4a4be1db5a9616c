/* Runs one pattern of accesses by itself, whose time forms.py works out by hand:

     patterns stream LINES THREADS    triad over three arrays of so many cache lines each
     patterns gather LINES THREADS    every line of a table once, in the order of an index that is streamed
     patterns index4 LINES            an index chase through elements of 4 bytes; also index8, index16, index64
     patterns rows   LINES            a sweep over rows with gaps between them
     patterns pointers LINES          the same, each row through a pointer from a table of them

   Prints the seconds of the timed pass, by the program's own clock. A first pass leaves the caches as the timed
   one will. The loops' schedule is OMP_SCHEDULE's. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "terrace/terrace.h"

enum { LINE = 64, DOUBLES = LINE / sizeof(double), ROW = 60, PITCH = 64 };

typedef struct {
  double value;
  uint64_t next;
  char rest[LINE - 16];
} Line;

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void* room(const char* name, size_t size) {
  void* memory = terrace_malloc(name, size);
  if (memory == NULL) exit(1);
  memset(memory, 0, size);
  return memory;
}

/* 0 to count - 1 in an order that no prefetcher foresees, the same in every run. */
static uint32_t* shuffled(size_t count) {
  uint32_t* order = room("order", count * sizeof *order);
  uint64_t random = 1;
  for (size_t i = 0; i < count; ++i) order[i] = (uint32_t)i;
  for (size_t i = count; i > 1; --i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    const size_t other = (random >> 33) % i;
    const uint32_t kept = order[i - 1];
    order[i - 1] = order[other];
    order[other] = kept;
  }
  return order;
}

static double stream(size_t lines) {
  const long n = (long)(lines * DOUBLES);
  double* a = room("a", lines * LINE);
  const double* b = room("b", lines * LINE);
  const double* c = room("c", lines * LINE);
  double begun = 0;
  for (int pass = 0; pass < 2; ++pass) {
    terrace_phase("triad");
    begun = seconds();
#pragma omp parallel for schedule(runtime)
    for (long i = 0; i < n; ++i) a[i] = b[i] + 3 * c[i];
  }
  return seconds() - begun;
}

static double gather(size_t lines) {
  const Line* table = room("table", lines * LINE);
  const uint32_t* order = shuffled(lines);
  double begun = 0;
  double sum = 0;
  for (int pass = 0; pass < 2; ++pass) {
    terrace_phase("gather");
    begun = seconds();
#pragma omp parallel for schedule(runtime) reduction(+ : sum)
    for (long i = 0; i < (long)lines; ++i) sum += table[order[i]].value;
  }
  const double taken = seconds() - begun;
  return sum == 0 ? taken : -1;
}

/* A chase through elements of a type, whose first member is the next one's index. */
#define INDEX_CHASE(name, type, member)                                                 \
  static double name(size_t lines) {                                                    \
    const size_t count = lines * LINE / sizeof(type);                                   \
    type* table = room("table", lines * LINE);                                          \
    const uint32_t* order = shuffled(count);                                            \
    for (size_t i = 0; i < count; ++i) table[order[i]] member = order[(i + 1) % count]; \
    double begun = 0;                                                                   \
    size_t at = order[0];                                                               \
    for (int pass = 0; pass < 2; ++pass) {                                              \
      terrace_phase("index");                                                           \
      begun = seconds();                                                                \
      for (size_t i = 0; i < lines; ++i) at = table[at] member;                         \
    }                                                                                   \
    const double taken = seconds() - begun;                                             \
    return at < count ? taken : -1;                                                     \
  }

typedef struct {
  uint64_t next;
  uint64_t other;
} Pair;

INDEX_CHASE(index_of_4, uint32_t, )
INDEX_CHASE(index_of_8, uint64_t, )
INDEX_CHASE(index_of_16, Pair, .next)
INDEX_CHASE(index_of_64, Line, .next)

/* A row is ROW of PITCH lines. */
static double rows(size_t lines, int through_pointers) {
  const size_t count = lines / PITCH;
  double* matrix = room("matrix", lines * LINE);
  double** row = room("row", count * sizeof *row);
  for (size_t i = 0; i < count; ++i) row[i] = matrix + i * PITCH * DOUBLES;
  double begun = 0;
  double sum = 0;
  for (int pass = 0; pass < 2; ++pass) {
    terrace_phase("rows");
    begun = seconds();
    for (size_t i = 0; i < count; ++i)
      for (size_t j = 0; j < (size_t)ROW * DOUBLES; ++j)
        sum += through_pointers ? row[i][j] : matrix[i * PITCH * DOUBLES + j];
  }
  const double taken = seconds() - begun;
  return sum == 0 ? taken : -1;
}

int main(int count, char** words) {
  if (count < 3) return 2;
  const char* pattern = words[1];
  const size_t lines = strtoul(words[2], NULL, 10);
  omp_set_num_threads(count > 3 ? atoi(words[3]) : 1);
  double taken = -1;
  terrace_loop_begin("main");
  if (strcmp(pattern, "stream") == 0) taken = stream(lines);
  if (strcmp(pattern, "gather") == 0) taken = gather(lines);
  if (strcmp(pattern, "index4") == 0) taken = index_of_4(lines);
  if (strcmp(pattern, "index8") == 0) taken = index_of_8(lines);
  if (strcmp(pattern, "index16") == 0) taken = index_of_16(lines);
  if (strcmp(pattern, "index64") == 0) taken = index_of_64(lines);
  if (strcmp(pattern, "rows") == 0) taken = rows(lines, 0);
  if (strcmp(pattern, "pointers") == 0) taken = rows(lines, 1);
  terrace_loop_end();
  printf("%.17g\n", taken);
  return taken < 0;
}
