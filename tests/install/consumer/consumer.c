/* A third-party program that uses an installed Terrace. Run on its own, every call must work as plain C and
 * the markers must do nothing; run as `terrace simulate -- consumer active`, it must find itself under terrace.
 * Exits 1 if a promise of terrace.h is broken. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <terrace/terrace.h>
#include <terrace/unimem.h>

static int broken = 0;

static void expect(int holds, const char* promise) {
  if (!holds) {
    printf("broken: %s\n", promise);
    broken = 1;
  }
}

int main(int argc, char** argv) {
  const int active = argc > 1 && strcmp(argv[1], "active") == 0;
  const size_t size = 3u << 20;
  unsigned char* field;
  double before;

  expect(terrace_active() == active, "terrace_active says who started the program");
  before = terrace_seconds();

  field = terrace_malloc("field", size);
  expect(field != NULL, "terrace_malloc gives memory");
  if (field == NULL) return 1;
  expect((uintptr_t)field % 4096 == 0, "terrace_malloc gives whole pages");

  terrace_loop_begin("main");
  for (int iteration = 0; iteration < 2; ++iteration) {
    terrace_phase("fill");
    memset(field, iteration + 1, size);
  }
  terrace_loop_end();
  expect((terrace_where(field) != NULL) == active, "terrace_where knows a place exactly when there are any");
  expect(field[0] == 2 && field[size - 1] == 2, "memory holds what was written");
  terrace_free(field);

  expect(terrace_malloc("nothing", 0) == NULL, "an object of no bytes is refused");
  expect(strlen(terrace_last_error()) > 0, "a refusal has a reason");
  expect(unimem_init() == (active ? 0 : -1), "unimem_init says who started the program");
  expect(active ? terrace_seconds() > before : terrace_seconds() >= before, "time goes forward");
  if (!broken) printf("terrace %d.%d serves\n", TERRACE_VERSION_MAJOR, TERRACE_VERSION_MINOR);
  return broken;
}
