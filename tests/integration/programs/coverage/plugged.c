/* plugged SWEEPS: loads its solver at run time. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 1 << 16 };

int main(int count, char** words) {
  static double values[n];
  void* plugin = dlopen("./plugin.so", RTLD_NOW);
  if (!plugin) return 1;
  double (*solve)(const double*, long, long);
  *(void**)&solve = dlsym(plugin, "solve");
  for (long i = 0; i < n; ++i) values[i] = (double)i;
  printf("%.17g\n", solve(values, n, count > 1 ? atol(words[1]) : 1));
  return 0;
}
