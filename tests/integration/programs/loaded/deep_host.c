/* deep_host PLUGIN now|lazy: loads the plug-in with RTLD_DEEPBIND. It frees, grows and unmaps large data of this
   program, and this program frees large data of the plug-in. Both have a function of the same name. Prints what
   each saw. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const size_t k_size = 8 << 20;

int side(void) { return 1; }

static unsigned long sum(const unsigned char* data, size_t size) {
  unsigned long total = 0;
  for (size_t i = 0; i < size; i += 4096) total += data[i];
  return total;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  for (int turn = 0; turn < 2; ++turn) {
    unsigned char* const freed = malloc(k_size);
    unsigned char* const grown = malloc(k_size);
    unsigned char* const mapped = mmap(NULL, k_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!freed || !grown || mapped == MAP_FAILED) return 3;
    memset(freed, 1, k_size);
    memset(grown, 2, k_size);
    memset(mapped, 3, k_size);
    void* const plugin = dlopen(argv[1], RTLD_LOCAL | RTLD_DEEPBIND | (argv[2][0] == 'n' ? RTLD_NOW : RTLD_LAZY));
    if (!plugin) {
      printf("%s\n", dlerror());
      return 4;
    }
    dlerror();
    unsigned char* (*take)(unsigned char*, unsigned char*, unsigned char*, size_t) = NULL;
    *(void**)&take = dlsym(plugin, "take");
    if (dlerror()) return 5;
    unsigned char* const back = take(freed, grown, mapped, k_size);
    printf("%d %lu\n", side(), sum(back, 2 * k_size));
    free(back);
    dlclose(plugin);
  }
  return 0;
}
