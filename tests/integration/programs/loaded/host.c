/* host PLUGIN...: loads each with RTLD_LOCAL, as Python loads its extensions, and prints the result of its work();
   if it has work_last(), calls that, too, and prints its sum(). */
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
