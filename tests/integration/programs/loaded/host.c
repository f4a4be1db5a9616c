/* host PLUGIN...: loads each for itself, as Python loads its extensions, and prints what its work() returns; where
   it has work_last(), that is called, too, and its sum() printed. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    void* const plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (!plugin) return puts(dlerror()), 2;
    int (*const work)(void) = (int (*)(void))dlsym(plugin, "work");
    printf("%d\n", work());
    void (*const last)(void) = (void (*)(void))dlsym(plugin, "work_last");
    if (!last) continue;
    last();
    printf("%d\n", ((int (*)(void))dlsym(plugin, "sum"))());
  }
  return 0;
}
