/* host: the functions of its main loop are in a library loaded at run time. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1 << 16, STEPS = 5 };

int main(void) {
  void* const plugin = dlopen("./plugin.so", RTLD_NOW);
  if (!plugin) {
    puts(dlerror());
    return 1;
  }
  void (*const smooth)(double*, int) = (void (*)(double*, int))dlsym(plugin, "smooth");
  void (*const relax)(double*, int) = (void (*)(double*, int))dlsym(plugin, "relax");
  double* const field = calloc(N, sizeof *field);
  for (int i = 0; i < STEPS; ++i) {
    smooth(field, N);
    relax(field, N);
  }
  printf("%.0f\n", field[N - 2]);
  free(field);
  return 0;
}
