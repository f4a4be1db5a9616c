// SPDX-License-Identifier: Apache-2.0
// Implements a program without MPI that loads a plug-in with RTLD_LOCAL and runs it. Argument: the plug-in's path.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* const plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!plugin) {
    fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "no plug-in named");
    return 1;
  }
  int (*const run)(void) = (int (*)(void))dlsym(plugin, "run_plugin");
  return run ? run() : 2;
}
