/* inside: a program that uses SQLite, hwloc and jemalloc itself, so that anything put into its process must keep
 * out of their way. Prints the same lines on one machine every time; exits 0 when all is as it should be. */
#include <hwloc.h>
#include <jemalloc/jemalloc.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 20000 };

static int failures = 0;

static void check(int condition, const char* what) {
  printf("%s %s\n", condition ? "ok" : "FAILED", what);
  if (!condition) ++failures;
}

static long long query(sqlite3* database, const char* text) {
  sqlite3_stmt* statement = NULL;
  long long result = -1;
  if (sqlite3_prepare_v2(database, text, -1, &statement, NULL) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW) {
    result = sqlite3_column_int64(statement, 0);
  }
  sqlite3_finalize(statement);
  return result;
}

static void test_sqlite(void) {
  sqlite3* database = NULL;
  sqlite3_stmt* insert = NULL;
  check(sqlite3_open(":memory:", &database) == SQLITE_OK, "SQLite opens a database in memory");
  sqlite3_exec(database, "create table squares (number integer primary key, square integer, text text); begin",
               NULL, NULL, NULL);
  sqlite3_prepare_v2(database, "insert into squares values (?, ?, ?)", -1, &insert, NULL);
  for (long long i = 1; i <= ROWS; ++i) {
    char text[32];
    snprintf(text, sizeof text, "%lld squared", i);
    sqlite3_bind_int64(insert, 1, i);
    sqlite3_bind_int64(insert, 2, i * i);
    sqlite3_bind_text(insert, 3, text, -1, SQLITE_TRANSIENT);
    sqlite3_step(insert);
    sqlite3_reset(insert);
  }
  sqlite3_finalize(insert);
  sqlite3_exec(database, "commit; create index by_text on squares (text)", NULL, NULL, NULL);
  const long long n = ROWS;
  check(query(database, "select sum(square) from squares") == n * (n + 1) * (2 * n + 1) / 6,
        "SQLite sums the squares");
  check(query(database, "select square from squares where text = '123 squared'") == 123 * 123,
        "SQLite finds a row by its index");
  check(sqlite3_close(database) == SQLITE_OK, "SQLite closes");
}

static void test_hwloc(void) {
  hwloc_topology_t topology;
  check(hwloc_topology_init(&topology) == 0 && hwloc_topology_load(topology) == 0, "hwloc loads the topology");
  const int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
  const int nodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
  printf("%d processing units, %d memory nodes\n", cores, nodes);
  check(cores >= 1 && nodes >= 1, "hwloc finds cores and memory");
  void* const memory = hwloc_alloc(topology, 1 << 20);
  memset(memory, 1, 1 << 20);
  check(hwloc_free(topology, memory, 1 << 20) == 0, "hwloc allocates");
  hwloc_topology_destroy(topology);
}

static void test_jemalloc(void) {
  const char* version = NULL;
  size_t size = sizeof version;
  check(mallctl("version", (void*)&version, &size, NULL, 0) == 0 && version[0] >= '4', "jemalloc answers");

  unsigned arena = 0;
  size = sizeof arena;
  check(mallctl("arenas.create", &arena, &size, NULL, 0) == 0, "jemalloc makes an arena");
  unsigned char* memory = mallocx(100000, MALLOCX_ARENA(arena) | MALLOCX_ALIGN(4096) | MALLOCX_ZERO);
  check(memory != NULL && (size_t)memory % 4096 == 0 && memory[99999] == 0, "jemalloc allocates in it");
  check(sallocx(memory, 0) >= 100000, "jemalloc knows the block's size");
  memory[7] = 7;
  memory = rallocx(memory, 300000, MALLOCX_ARENA(arena));
  check(memory != NULL && memory[7] == 7, "jemalloc resizes it");
  dallocx(memory, 0);

  /* One heap: what jemalloc's own calls hand out, free takes back, and the other way round. */
  free(mallocx(5000, 0));
  void* const block = malloc(6000);
  check(malloc_usable_size(block) >= 6000 && sallocx(block, 0) == malloc_usable_size(block),
        "malloc's blocks are jemalloc's");
  dallocx(block, 0);
}

int main(void) {
  test_sqlite();
  test_hwloc();
  test_jemalloc();
  return failures == 0 ? 0 : 1;
}
