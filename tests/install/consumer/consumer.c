/* A program of somebody else's that uses an installed Terrace: run on its own, not under terrace, so every call
 * must work as plain C and the markers must do nothing. Prints what it found; exits 1 if a promise of terrace.h
 * is broken. */
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

int main(void) {
  const size_t size = 3u << 20;
  unsigned char* field;
  double before;

  expect(terrace_active() == 0, "a program on its own is not active");
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
  expect(field[0] == 2 && field[size - 1] == 2, "memory holds what was written");
  terrace_free(field);

  expect(terrace_malloc("nothing", 0) == NULL, "an object of no bytes is refused");
  expect(strlen(terrace_last_error()) > 0, "a refusal has a reason");
  expect(unimem_init() == -1, "unimem_init says that the program was not started by terrace");
  expect(terrace_seconds() >= before, "time does not run backwards");
  if (!broken) printf("terrace %d.%d serves\n", TERRACE_VERSION_MAJOR, TERRACE_VERSION_MINOR);
  return broken;
}
