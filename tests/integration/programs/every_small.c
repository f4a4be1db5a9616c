/* Tests all allocation functions for small blocks with a thread's intent: addresses, contents, alignments, sizes.
 * Prints errors, and ends with "all right". */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <terrace/terrace.h>

static int g_wrong, g_active;

static void expect_at(int line, int holds, const char* what) {
  if (holds) return;
  printf("not so: %s (line %d)\n", what, line);
  ++g_wrong;
}
#define EXPECT(condition) expect_at(__LINE__, (condition) != 0, #condition)

static void check(char* block, size_t size, size_t alignment) {
  EXPECT(block && (uintptr_t)block % alignment == 0);
  EXPECT(malloc_usable_size(block) >= size);
  memset(block, 0x5a, malloc_usable_size(block));
  EXPECT(!g_active || terrace_where(block)); /* larger ones are placed with the first touch */
}

int main(int count, char** words) {
  static const size_t sizes[] = {1,    8,    16,    17,    100,    128,     129,    1000,
                                 4096, 5000, 32768, 32769, 100000, 1048576, 1048577};
  g_active = terrace_intent("latency") == TERRACE_OK;
  char* before = NULL;
  terrace_intent(NULL);
  before = strdup("of the C library");
  if (g_active) terrace_intent("latency");
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    const size_t size = sizes[i];
    char* blocks[8];
    check(blocks[0] = malloc(size), size, 16);
    blocks[1] = calloc(size, 1);
    for (size_t at = 0; at < size; ++at)
      if (blocks[1][at] != 0) {
        EXPECT(blocks[1][at] == 0);
        break;
      }
    check(blocks[1], size, 16);
    void* aligned = NULL;
    for (size_t alignment = 16; alignment <= 4 << 20; alignment *= 4) {
      EXPECT(posix_memalign(&aligned, alignment, size) == 0);
      check(aligned, size, alignment);
      free(aligned);
      check(aligned = memalign(alignment, size), size, alignment);
      free(aligned);
    }
    check(blocks[2] = aligned_alloc(64, (size + 63) / 64 * 64), size, 64);
    check(blocks[3] = valloc(size), size, 4096);
    check(blocks[4] = pvalloc(size), (size + 4095) / 4096 * 4096, 4096);
    check(blocks[5] = terrace_aligned_alloc(size, 256, "bandwidth"), size, 256);
    check(blocks[6] = terrace_alloc(size, "capacity"), size, 4096);
    blocks[7] = reallocarray(NULL, size, 1);
    check(blocks[7], size, 16);
    blocks[7] = realloc(blocks[7], size * 3);
    for (size_t at = 0; at < size; ++at)
      if (blocks[7][at] != 0x5a) {
        EXPECT(blocks[7][at] == 0x5a);
        break;
      }
    check(blocks[7], size * 3, 16);
    blocks[7] = realloc(blocks[7], (size + 5) / 6);
    EXPECT(blocks[7][0] == 0x5a);
    check(blocks[7], (size + 5) / 6, 16);
    for (int k = 0; k < 8; ++k) free(blocks[k]);
  }
  before = realloc(before, 5000);
  EXPECT(strcmp(before, "of the C library") == 0);
  check(before, 5000, 16);
  terrace_intent(NULL);
  before = realloc(before, 9000); /* stays by its intent */
  check(before, 9000, 16);
  EXPECT(realloc(before, 0) == NULL);
  errno = 0;
  EXPECT(terrace_aligned_alloc(100, 24, "latency") == NULL && terrace_last_error()[0] != '\0');
  EXPECT(terrace_aligned_alloc(0, 16, "latency") == NULL && terrace_aligned_alloc(16, 16, NULL) == NULL);
  char* const copy = strdup("again of the C library");
  const int by_run = count > 1 && strcmp(words[1], "intent") == 0; /* the run has one: it holds again */
  EXPECT(!by_run || terrace_where(copy));
  free(copy);
  puts(g_wrong == 0 ? "all right" : "wrong");
  return g_wrong != 0;
}
