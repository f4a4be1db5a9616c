/* Receives two large blocks and a mapping: frees the first, grows the second, unmaps the third. With OWN it has an
   allocator of its own, whose blocks only it frees. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int side(void) { return 2; }

#ifdef OWN
static char g_arena[1 << 20];
static size_t g_used;
void* malloc(size_t size) {
  void* const block = g_arena + g_used;
  g_used += (size + 15) / 16 * 16;
  return block;
}
#endif

/* Also called through a pointer, which is bound at load time. */
void (*volatile g_free)(void*) = free;

unsigned char* take(unsigned char* freed, unsigned char* grown, unsigned char* mapped, size_t size) {
#ifdef OWN
  char* const own = malloc(100);
  printf("own %d\n", own >= g_arena && own < g_arena + sizeof g_arena);
#else
  void* small = NULL;
  if (posix_memalign(&small, 64, 1000) != 0) return NULL;
  free(small);
  void* const large = malloc(size);
  memset(large, 5, size);
  g_free(large);
#endif
  printf("%d %d %d %d\n", side(), freed[size - 1], grown[size - 1], mapped[size - 1]);
  free(freed);
  munmap(mapped, size);
  unsigned char* const more = realloc(grown, 2 * size);
  memset(more + size, 4, size);
  return more;
}
