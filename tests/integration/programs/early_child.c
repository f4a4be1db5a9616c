// More data than memory, including streams and the stack of the forking thread, which the C library accesses in
// a child before any fork handler runs there.
//
//   early_child MIB     prints what the children found
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

// An allocator that maps its memory and never frees.
enum { FIRST = 1 << 20, NEXT = 4 << 20 };
static _Alignas(64) char first[FIRST];
static char* room = first;
static char* end = first + FIRST;

static void* take(size_t size, size_t alignment) {
  char* at = (char*)(((uintptr_t)room + 16 + alignment - 1) / alignment * alignment);
  if (size >= NEXT / 2) return NULL;
  if (at + size > end) {
    char* const more = mmap(NULL, NEXT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (more == MAP_FAILED) return NULL;
    end = more + NEXT;
    at = (char*)(((uintptr_t)more + 16 + alignment - 1) / alignment * alignment);
  }
  room = at + size;
  ((size_t*)at)[-1] = size;
  return at;
}
void* malloc(size_t size) { return take(size, 16); }
void free(void* block) { (void)block; }
void* calloc(size_t count, size_t size) { return take(count * size, 16); }  // nothing comes back, so it is zero
void* aligned_alloc(size_t alignment, size_t size) { return take(size, alignment < 16 ? 16 : alignment); }
void* realloc(void* block, size_t size) {
  void* const moved = take(size, 16);
  if (block && moved) memcpy(moved, block, ((size_t*)block)[-1] < size ? ((size_t*)block)[-1] : size);
  return moved;
}

static uint64_t* data;
static size_t words;

static void* have_children(void* unused) {
  (void)unused;
  for (uint64_t round = 0; round < 3; ++round) {
    for (size_t i = 0; i < words; i += 512) data[i] = i * 0x9e3779b97f4a7c15 + round;
    const pid_t child = fork();
    if (child == 0) {
      size_t wrong = 0;
      for (size_t i = 0; i < words; i += 512) wrong += data[i] != i * 0x9e3779b97f4a7c15 + round;
      _exit(wrong == 0 ? 5 : 6);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("%x\n", (unsigned)status);
  }
  return NULL;
}

int main(int count, char** arguments) {
  end = room;  // from now on of a mapping
  FILE* const stream = fopen("/dev/null", "w");
  words = (size_t)(count > 1 ? atol(arguments[1]) : 8) * (1 << 20) / sizeof *data;
  data = mmap(NULL, words * sizeof *data, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* const stack = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, 8 << 20);
  pthread_t forker;
  if (pthread_create(&forker, &attributes, have_children, NULL) == 0) pthread_join(forker, NULL);
  have_children(NULL);
  fputs("end", stream);
  return fclose(stream) == 0 ? 0 : 1;
}
