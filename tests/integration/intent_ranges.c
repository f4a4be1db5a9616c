/* Places memory of its own by intent, and gives it back in some way.
 *
 *   intent_ranges zeros             terrace_alloc, where blocks that were written were freed before
 *   intent_ranges unmap|over|raw    eight mappings, one after another: terrace_apply; then munmap, another mapping
 *                                   over it, or a bare system call
 *   intent_ranges keep              eight mappings that stay
 *   intent_ranges move|shrink       a mapping that mremap moves, or makes shorter
 *
 * It prints what the calls answer and what terrace_where() says. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <terrace/terrace.h>
#include <unistd.h>

enum { k_page = 4096, k_times = 8 };
static const size_t k_size = (size_t)16 << 20;

static char* map(void* at, size_t size, int flags) {
  char* const got = mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (got == MAP_FAILED) {
    perror("mmap");
    exit(3);
  }
  return got;
}

static void say_where(const char* what, const char* address) {
  const char* const where = terrace_where(address);
  printf("%s: %s\n", what, where ? where : "unknown");
}

static int zeros(void) {
  static const size_t sizes[] = {1, 100, 4096, 5000, 20000, 65536, 200000, 1 << 20, 5 << 20, 20 << 20};
  enum { k_sizes = sizeof sizes / sizeof *sizes, k_blocks = 16, k_large_blocks = 3 };
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < k_sizes; ++i) {
      char* blocks[k_blocks];
      const int count = sizes[i] > 1 << 20 ? k_large_blocks : k_blocks;
      for (int n = 0; n < count; ++n) {
        if (!(blocks[n] = malloc(sizes[i] + 2 * k_page))) return 3;
        memset(blocks[n], 0x5a, sizes[i] + 2 * k_page);
        __asm__ volatile("" ::"r"(blocks[n]) : "memory");
      }
      for (int n = 0; n < count; ++n) free(blocks[n]);
      char* const block = terrace_alloc(sizes[i], "bandwidth");
      if (!block || (size_t)block % k_page != 0) return 4;
      for (size_t at = 0; at < sizes[i]; ++at)
        if (block[at] != 0) {
          printf("byte %zu of %zu is not 0\n", at, sizes[i]);
          return 5;
        }
      memset(block, 0x5a, sizes[i]);
      terrace_free(block);
    }
  puts("zeros");
  return 0;
}

int main(int count, char** words) {
  if (count < 2) return 2;
  const char* const mode = words[1];
  if (strcmp(mode, "zeros") == 0) return zeros();
  char* block = NULL;
  if (strcmp(mode, "move") == 0 || strcmp(mode, "shrink") == 0) {
    block = map(NULL, k_size, 0);
    printf("apply: %d\n", terrace_apply(block, k_size, "bandwidth"));
    if (strcmp(mode, "shrink") == 0) {
      mremap(block, k_size, k_size / 4, 0);
      say_where("rest", block + k_size / 4);
    } else {
      char* const to = map(NULL, 2 * k_size, 0);
      say_where("before", to);
      printf("moved: %d\n",
             mremap(block, k_size, k_size, MREMAP_MAYMOVE | MREMAP_FIXED, to + k_size) == to + k_size);
      say_where("old", block);
      say_where("end", to + 2 * k_size - 1);
      block = to + k_size;
    }
    say_where("new", block);
    printf("again: %d\n", terrace_apply(map(NULL, k_size, 0), k_size, "bandwidth"));
    munmap(block, k_size);
    say_where("last", block);
    return 0;
  }
  for (int i = 0; i < k_times; ++i) {
    /* Not where the one before was. */
    char* const other = map(NULL, k_size, 0);
    block = map(NULL, k_size, 0);
    printf("apply: %d\n", terrace_apply(block, k_size, "bandwidth"));
    say_where("applied", block);
    if (strcmp(mode, "unmap") == 0)
      munmap(block, k_size);
    else if (strcmp(mode, "raw") == 0)
      syscall(SYS_munmap, block, k_size);
    else if (strcmp(mode, "over") == 0)
      map(block, k_size, MAP_FIXED);
    (void)other;
  }
  say_where("last", block);
  return 0;
}
