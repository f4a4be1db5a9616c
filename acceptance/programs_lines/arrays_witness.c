/* Counts what an allocation handler of NumPy is asked for, for arrays_suite.py: its functions count and call the
 * handler's. The structure is NumPy's (NEP 49: PyDataMem_Handler, version 1). */
#include <stddef.h>
#include <stdint.h>

struct allocator {
  void* context;
  void* (*malloc)(void* context, size_t size);
  void* (*calloc)(void* context, size_t count, size_t size);
  void* (*realloc)(void* context, void* block, size_t size);
  void (*free)(void* context, void* block, size_t size);
};
struct handler {
  char name[127];
  uint8_t version;
  struct allocator allocator;
};

static struct allocator g_own;
static unsigned long g_counts[3]; /* blocks that it was asked for, of 64 KiB and more, blocks given back */

static void asked(size_t size) {
  __atomic_fetch_add(&g_counts[0], 1, __ATOMIC_RELAXED);
  if (size >= 64 << 10) __atomic_fetch_add(&g_counts[1], 1, __ATOMIC_RELAXED);
}

static void* counted_malloc(void* context, size_t size) {
  asked(size);
  return g_own.malloc(context, size);
}

static void* counted_calloc(void* context, size_t count, size_t size) {
  asked(count * size);
  return g_own.calloc(context, count, size);
}

static void* counted_realloc(void* context, void* block, size_t size) {
  asked(size);
  return g_own.realloc(context, block, size);
}

static void counted_free(void* context, void* block, size_t size) {
  if (block) __atomic_fetch_add(&g_counts[2], 1, __ATOMIC_RELAXED);
  g_own.free(context, block, size);
}

/* Once. */
void witness(struct handler* handler) {
  const struct allocator counted = {handler->allocator.context, counted_malloc, counted_calloc, counted_realloc,
                                    counted_free};
  g_own = handler->allocator;
  handler->allocator = counted;
}

const unsigned long* counts(void) { return g_counts; }
