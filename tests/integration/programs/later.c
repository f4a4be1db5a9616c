// Two successive loops: the data of the first fits into every cache, that of the second does not.
#include <stdio.h>

enum { k_small = 256, k_large = 1 << 17, k_turns = 40 };

// Terrace's, where it is there.
__attribute__((weak)) void terrace_loop_begin(const char* name);
__attribute__((weak)) void terrace_loop_end(void);
__attribute__((weak)) void terrace_phase(const char* name);

static double small[k_small], large[k_large];

static void sweep(const char* name, double* to, int count) {
  if (terrace_loop_begin) terrace_loop_begin(name);
  for (int turn = 0; turn < k_turns; ++turn) {
    if (terrace_phase) terrace_phase("add");
    for (int i = 0; i < count; ++i) to[i] = to[i] * 0.5 + i;
  }
  if (terrace_loop_end) terrace_loop_end();
}

int main(void) {
  for (int i = 0; i < k_small; ++i) small[i] = i;
  sweep("first", small, k_small);
  sweep("second", large, k_large);
  printf("%.3f %.3f\n", small[k_small - 1], large[k_large - 1]);
  return 0;
}
