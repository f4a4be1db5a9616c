// loader LIBRARY...: loads each library privately, as Python loads extensions, lets it reduce a million numbers
// twice, and prints its result.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  const long n = 1 << 20;
  double* const x = malloc(n * sizeof *x);
  for (long i = 0; i < n; ++i) x[i] = (double)(i & 3);
  for (int again = 0; again < 2; ++again)
    for (int i = 1; i < argc; ++i) {
      void* const library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
      if (!library) return fprintf(stderr, "%s\n", dlerror()), 2;
      double (*const reduce)(const double*, long) = (double (*)(const double*, long))dlsym(library, "reduce");
      printf("%.0f\n", reduce(x, n));
    }
  return 0;
}
