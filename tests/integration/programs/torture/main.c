/* Runs all parts of torture, also its child process, and exits with status 42 if they pass. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "torture.h"

static int failures = 0;

void check(int condition, const char* what) {
  printf("%s %s\n", condition ? "ok" : "FAILED", what);
  if (!condition) ++failures;
}

static void say_first(void) { puts("exit handler registered first"); }
static void say_second(void) { puts("exit handler registered second"); }

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "child") == 0) return run_as_child(argc, argv);
  atexit(say_first);
  atexit(say_second);
  test_allocation();
  test_atomics();
  test_threads();
  test_jumps();
  test_signals();
  test_libraries();
  test_processes();
  exit(failures == 0 ? 42 : 1);
}
