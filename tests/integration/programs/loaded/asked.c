/* Looks functions up by name (dlsym), and prints which exist: those of OpenMP, Caliper, libm, and one of
   the C library. Then does the same in a plug-in, if one is named, in its own scope. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int ask(void) {
  static const char* const names[] = {"omp_set_lock", "GOMP_barrier", "cali_begin_region", "exp", "malloc"};
  for (unsigned i = 0; i < sizeof names / sizeof *names; ++i) {
    dlerror();
    const int found = dlsym(RTLD_DEFAULT, names[i]) != NULL;
    printf("%d", found);
    if (found != (dlerror() == NULL)) printf("?");
  }
  printf("\n");
  return 0;
}

#ifndef PLUGIN
int main(int argc, char** argv) {
  ask();
  void* const plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (argc > 1 && !plugin) return 2;
  int (*there)(void) = NULL;
  if (plugin) *(void**)&there = dlsym(plugin, "ask");
  return there ? there() : 0;
}
#endif
