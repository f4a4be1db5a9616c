// A program whose first iteration differs from the others: two arrays, the first one swept in phase "begin", the
// second one in phase "end", and from the second iteration on the first one in phase "middle", too.
// missed [ITERATIONS [told]]: with `told`, it passes hints about uses and reference counts to Terrace.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <terrace/terrace.h>

enum { k_cells = 32768, k_sweeps = 24 };

static void sweep(volatile long* cells, int times) {
  for (int n = 0; n < times; ++n)
    for (int i = 0; i < k_cells; ++i) ++cells[i];
}

static void expect(terrace_status wanted, terrace_status found) {
  if (wanted == found) return;
  fprintf(stderr, "missed: status %d instead of %d: %s\n", found, wanted, terrace_last_error());
  exit(1);
}

int main(int argc, char** argv) {
  const int iterations = argc > 1 ? atoi(argv[1]) : 10;
  const int told = argc > 2 && strcmp(argv[2], "told") == 0;
  if (told) expect(TERRACE_OK, terrace_value("niter", iterations));
  long* const u = terrace_malloc("u", k_cells * sizeof *u);
  long* const v = terrace_malloc("v", k_cells * sizeof *v);
  long* const w = terrace_malloc("w", k_cells * sizeof *w);
  if (!u || !v || !w) return 1;
  memset(u, 0, k_cells * sizeof *u);
  memset(v, 0, k_cells * sizeof *v);
  memset(w, 0, k_cells * sizeof *w);
  if (told) {
    expect(TERRACE_OK, terrace_refs("u", "bytes(\"u\") / 8 * 25 * niter"));
    expect(TERRACE_OK, terrace_refs("v", "bytes(\"v\") / 8 * 24 * niter"));
    expect(TERRACE_INVALID, terrace_refs("w", "2*nnz*"));
    if (!strstr(terrace_last_error(), "column 7")) return 1;
    expect(TERRACE_INVALID, terrace_value("2n", 1));
    expect(TERRACE_OK, terrace_depends("middle", "u", 1));
  }
  terrace_loop_begin("main");
  for (int n = 0; n < iterations; ++n) {
    terrace_phase("begin");
    sweep(u, k_sweeps);
    terrace_phase("middle");
    sweep(n == 0 ? w : u, 1);
    terrace_phase("end");
    sweep(v, k_sweeps);
  }
  terrace_loop_end();
  printf("missed: checksum %ld\n", u[5] + v[7] + w[1]);
  terrace_free(u);
  terrace_free(v);
  terrace_free(w);
  return 0;
}
