// Maps large blocks of an unmodified program as shared mappings of a file: the kernel's own way to have more data
// than memory. acceptance/memory compares `terrace run --memory` with it.
//
// LD_PRELOAD it; MAPPED_DIR is the folder of the files, MAPPED_ADVICE is "sequential" or nothing.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
  MIN = 4 << 20,  // as large as Terrace's out-of-core blocks: k_big_block in src/foundation/core/big_block.hpp
  MAX_BLOCKS = 4096,
  PAGE = 4096
};

static struct {
  char* low;
  size_t size;
} blocks[MAX_BLOCKS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* map_block(size_t size) {
  const char* const folder = getenv("MAPPED_DIR");
  const char* const advice = getenv("MAPPED_ADVICE");
  const int file = folder ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
  if (file < 0) return NULL;
  size = (size + PAGE - 1) / PAGE * PAGE;
  char* block = MAP_FAILED;
  if (posix_fallocate(file, 0, (off_t)size) == 0)
    block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (block == MAP_FAILED) return NULL;
  if (advice && strcmp(advice, "sequential") == 0) madvise(block, size, MADV_SEQUENTIAL);
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MAX_BLOCKS; ++i)
    if (!blocks[i].low) {
      blocks[i].low = block;
      blocks[i].size = size;
      pthread_mutex_unlock(&lock);
      return block;
    }
  pthread_mutex_unlock(&lock);
  munmap(block, size);
  return NULL;
}

// Returns the size of a mapped block, 0 for any other; removes it from the list if `forget` is set.
static size_t find_block(const void* block, int forget) {
  size_t size = 0;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MAX_BLOCKS && size == 0; ++i)
    if (blocks[i].low == block && block) {
      size = blocks[i].size;
      if (forget) blocks[i].low = NULL;
    }
  pthread_mutex_unlock(&lock);
  return size;
}

#define NEXT(name)               \
  static __typeof__(name)* next; \
  if (!next) next = (__typeof__(name)*)dlsym(RTLD_NEXT, #name)

void* malloc(size_t size) {
  NEXT(malloc);
  void* const block = size >= MIN ? map_block(size) : NULL;
  return block ? block : next(size);
}

void free(void* block) {
  NEXT(free);
  const size_t size = find_block(block, 1);
  if (size > 0)
    munmap(block, size);
  else
    next(block);
}

void* calloc(size_t count, size_t size) {
  static char first[8192];  // dlsym itself calls calloc
  static size_t used;
  static __typeof__(calloc)* next;
  static int asking;
  if (!next) {
    if (asking) {
      void* const block = first + used;
      used += (count * size + 15) & ~(size_t)15;
      return block;
    }
    asking = 1;
    next = (__typeof__(calloc)*)dlsym(RTLD_NEXT, "calloc");
  }
  void* const block = count > 0 && size >= MIN / count ? map_block(count * size) : NULL;
  return block ? block : next(count, size);
}

void* realloc(void* block, size_t size) {
  NEXT(realloc);
  const size_t before = find_block(block, 0);
  if (before == 0) return next(block, size);
  void* const moved = malloc(size);
  if (!moved) return NULL;
  memcpy(moved, block, before < size ? before : size);
  free(block);
  return moved;
}

int posix_memalign(void** block, size_t alignment, size_t size) {
  NEXT(posix_memalign);
  if (size >= MIN && alignment <= PAGE && (*block = map_block(size))) return 0;
  return next(block, alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  NEXT(aligned_alloc);
  void* const block = size >= MIN && alignment <= PAGE ? map_block(size) : NULL;
  return block ? block : next(alignment, size);
}
