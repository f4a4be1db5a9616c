/* Every way to get memory from the C library, with alignment, contents and sizes checked; and the functions that
 * copy and fill it. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "torture.h"

static int aligned(const void* memory, size_t alignment) {
  return memory != NULL && (uintptr_t)memory % alignment == 0;
}

static int all_zero(const unsigned char* memory, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (memory[i] != 0) return 0;
  }
  return 1;
}

static void test_sizes(void) {
  int good = 1;
  for (size_t size = 0; size < 70000; size = size * 3 / 2 + 1) {
    unsigned char* memory = malloc(size);
    good &= aligned(memory, 16) && malloc_usable_size(memory) >= size;
    memset(memory, 0xa5, size);
    memory = realloc(memory, 2 * size + 1);
    for (size_t i = 0; i < size; ++i) good &= memory[i] == 0xa5;
    free(memory);
    memory = calloc(size, 3);
    good &= all_zero(memory, 3 * size);
    free(memory);
  }
  check(good, "malloc, realloc and calloc of many sizes");

  /* Large blocks grow and shrink in place or move; both must keep the contents. */
  unsigned char* large = malloc(1 << 20);
  memset(large, 7, 1 << 20);
  large = realloc(large, 64 << 20);
  good = large[0] == 7 && large[(1 << 20) - 1] == 7;
  large = realloc(large, 1000);
  good &= large[999] == 7;
  free(large);
  check(good, "large blocks keep their contents when resized");
}

static void test_aligned(void) {
  int good = 1;
  for (size_t alignment = 16; alignment <= (2 << 20); alignment *= 2) {
    void* memory = NULL;
    good &= posix_memalign(&memory, alignment, 1000) == 0 && aligned(memory, alignment);
    free(memory);
    good &= aligned(memory = aligned_alloc(alignment, alignment * 2), alignment);
    free(memory);
    good &= aligned(memory = memalign(alignment, 77), alignment);
    free(memory);
  }
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  void* memory = valloc(10);
  good &= aligned(memory, page);
  free(memory);
  memory = pvalloc(10);
  good &= aligned(memory, page) && malloc_usable_size(memory) >= page;
  free(memory);
  check(good, "aligned blocks of every kind");
}

static void test_edges(void) {
  void* memory = NULL;
  check(posix_memalign(&memory, 3, 10) == EINVAL, "an alignment that is no power of two is refused");
  volatile size_t too_much = SIZE_MAX / 2;
  errno = 0;
  check(malloc(too_much) == NULL && errno == ENOMEM, "too much is refused");
  check(calloc(too_much, 4) == NULL, "an overflowing product is refused");
  check(reallocarray(NULL, too_much, 4) == NULL, "by reallocarray too");
  free(NULL);
  memory = realloc(NULL, 10);
  check(memory != NULL && realloc(memory, 0) == NULL, "realloc allocates from nothing and frees at zero");
  char* text = strdup("twelve bytes");
  char* printed = NULL;
  const int length = asprintf(&printed, "%s and %d", text, 12);
  check(length == 19 && strcmp(printed, "twelve bytes and 12") == 0, "strdup and asprintf");
  free(text);
  free(printed);
}

static void* release(void* memory) {
  free(memory);
  return malloc(5000);
}

static void test_threads_of_blocks(void) {
  int good = 1;
  for (int i = 0; i < 100; ++i) {
    pthread_t thread;
    void* result = NULL;
    pthread_create(&thread, NULL, release, malloc(4000));
    pthread_join(thread, &result);
    good &= result != NULL;
    free(result);
  }
  check(good, "a block is freed by a thread that did not allocate it");
}

static void test_copies(void) {
  static unsigned char source[5000], target[5000];
  volatile size_t size = 4096, none = 0;
  int good = 1;
  for (size_t i = 0; i < sizeof source; ++i) source[i] = (unsigned char)(i * 7);
  good &= memcpy(target + 3, source + 1, size) == target + 3;
  for (size_t i = 0; i < size; ++i) good &= target[i + 3] == source[i + 1];
  memmove(target + 10, target + 3, size);
  good &= target[10] == source[1] && target[size + 9] == source[size];
  memmove(target + 3, target + 10, size);
  good &= target[3] == source[1] && target[size + 2] == source[size];
  memset(target, 9, size);
  good &= target[0] == 9 && target[size - 1] == 9;
  good &= mempcpy(target, source, 100) == target + 100;
  good &= memcmp(target, source, 100) == 0 && memchr(source, 14, 10) == source + 2;
  memset(target, 1, none);
  memcpy(target, source + 50, none);
  good &= target[0] == source[0];
  check(good, "copies and fills, overlapping ones too");
}

static void test_mappings(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  unsigned char* memory = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int good = memory != MAP_FAILED && all_zero(memory, 4 * page);
  memory[page] = 8;
  memory = mremap(memory, 4 * page, 64 * page, MREMAP_MAYMOVE);
  good &= memory != MAP_FAILED && memory[page] == 8 && memory[63 * page] == 0;
  good &= munmap(memory, 64 * page) == 0;
  check(good, "mappings grow and go");
}

void test_allocation(void) {
  test_sizes();
  test_aligned();
  test_edges();
  test_threads_of_blocks();
  test_copies();
  test_mappings();
}
