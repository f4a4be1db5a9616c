/* Shared libraries that come and go while the program runs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "torture.h"

typedef long Sum(int count, int* unloaded);

/* The plugin beside the program. */
static void* open_plugin(int flags) {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof "/plugin.so");
  if (length <= 0) return NULL;
  path[length] = '\0';
  strcpy(strrchr(path, '/'), "/plugin.so");
  return dlopen(path, flags);
}

void test_libraries(void) {
  int good = 1;
  for (int round = 0; round < 10; ++round) {
    int unloaded = 0;
    void* const plugin = open_plugin(round % 2 == 0 ? RTLD_NOW : RTLD_LAZY | RTLD_GLOBAL);
    if (plugin == NULL) {
      fprintf(stderr, "torture: %s\n", dlerror());
      check(0, "dlopen finds the plugin");
      return;
    }
    Sum* sum;
    *(void**)&sum = dlsym(plugin, "plugin_sum");
    good &= sum != NULL && sum(100000, &unloaded) == 4999950000L;
    dlclose(plugin);
    good &= unloaded;
  }
  check(good, "a library is loaded, used and unloaded ten times");
  check(dlopen("/nonexistent/library.so", RTLD_NOW) == NULL && dlerror() != NULL, "a missing library is an error");

  void* const math = dlopen("libm.so.6", RTLD_NOW);
  double (*square_root)(double);
  *(void**)&square_root = math == NULL ? NULL : dlsym(math, "sqrt");
  check(square_root != NULL && square_root(1764.0) == 42.0, "a function of libm by name");
  if (math != NULL) dlclose(math);
  check(dlsym(RTLD_DEFAULT, "malloc") != NULL, "malloc can be looked up");
}
