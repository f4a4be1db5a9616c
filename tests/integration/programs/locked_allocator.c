// More data than memory from an allocator that holds its lock while it maps memory. A thread that requests a block
// meanwhile, and that the mapping call waits for, would deadlock.
//
// With LIBRARY only the allocator, with PROGRAM only the program, else both:
//
//   locked_allocator MIB     prints a checksum of its data
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PROGRAM
enum { FIRST = 1 << 20, NEXT = 8 << 20 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(64) char first[FIRST];
static char* room = first;
static char* end = first + FIRST;

static void* take_locked(size_t size, size_t alignment) {
  char* at = (char*)(((uintptr_t)room + 16 + alignment - 1) / alignment * alignment);
  if (at + size > end) {
    const size_t more = size + alignment + 32 > NEXT ? size + alignment + NEXT : NEXT;
    room = mmap(NULL, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return NULL;
    end = room + more;
    at = (char*)(((uintptr_t)room + 16 + alignment - 1) / alignment * alignment);
  }
  room = at + size;
  ((size_t*)at)[-1] = size;
  return at;
}
static void* take(size_t size, size_t alignment) {
  if (size > PTRDIFF_MAX / 2) return NULL;
  pthread_mutex_lock(&lock);
  void* const block = take_locked(size, alignment < 16 ? 16 : alignment);
  pthread_mutex_unlock(&lock);
  return block;
}

void* malloc(size_t size) { return take(size, 16); }
void free(void* block) { (void)block; }
void* calloc(size_t count, size_t size) {
  return take(count * size, 16);  // nothing comes back, so it is zero
}
void* aligned_alloc(size_t alignment, size_t size) { return take(size, alignment); }
void* memalign(size_t alignment, size_t size) { return take(size, alignment); }
int posix_memalign(void** block, size_t alignment, size_t size) {
  *block = take(size, alignment);
  return *block ? 0 : 12;
}
size_t malloc_usable_size(void* block) { return block ? ((size_t*)block)[-1] : 0; }
void* realloc(void* block, size_t size) {
  void* const moved = take(size, 16);
  if (block && moved) memcpy(moved, block, ((size_t*)block)[-1] < size ? ((size_t*)block)[-1] : size);
  return moved;
}

#endif

#ifndef LIBRARY
enum { BLOCK = 10000 };  // no block is large enough to be managed out of core

static uint64_t sum_of(char** blocks, size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i)
    for (size_t k = 0; k < BLOCK; k += 500) sum = 31 * sum + (unsigned char)blocks[i][k];
  return sum;
}

static void fill(char** blocks, size_t count) {
  for (size_t i = 0; i < count; ++i) memset(blocks[i] = malloc(BLOCK), (int)(i * 7), BLOCK);
}

static void* fill_half(void* half) {
  fill(half, *(size_t*)((char**)half)[-1]);
  return NULL;
}

int main(int count, char** arguments) {
  size_t blocks = (size_t)(count > 1 ? atol(arguments[1]) : 8) * (1 << 20) / BLOCK / 2;
  char** const halves[] = {(char**)malloc((blocks + 1) * sizeof(char*)) + 1,
                           (char**)malloc((blocks + 1) * sizeof(char*)) + 1};
  pthread_t other;
  for (int i = 0; i < 2; ++i) halves[i][-1] = (char*)&blocks;
  pthread_create(&other, NULL, fill_half, halves[1]);
  fill_half(halves[0]);
  pthread_join(other, NULL);
  const uint64_t sum = sum_of(halves[0], blocks) + sum_of(halves[1], blocks);
  const pid_t child = fork();
  if (child == 0) _exit(sum_of(halves[0], blocks) + sum_of(halves[1], blocks) == sum ? 5 : 6);
  int status = 0;
  waitpid(child, &status, 0);
  printf("%llx %x\n", (unsigned long long)sum, (unsigned)status);
  return 0;
}
#endif
