/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the part of the tracer inside the traced program, which `terrace lab trace` loads by LD_PRELOAD: it
 * tells the plug-in around it (plugin.cpp) which blocks the allocator hands out and which markers the program
 * passes, and stands in for the C library's memory functions, so that their accesses can be told from the
 * library's own. It keeps nothing and changes nothing else.
 */
#define _GNU_SOURCE
#include "inside.h"

#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define MEMORY EXPORT __attribute__((section("terrace_memory")))

/* glibc's own functions, past every interposer. */
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* block);

#define CALLER __builtin_return_address(0)

/* Reports an event to the plug-in, by the system call that only the plug-in knows. Preserves errno. */
static void tell(enum terrace_trace_event event, const void* address, size_t size, const void* caller) {
  const int saved = errno;
  syscall(TERRACE_TRACE_CALL, (long)event, address, size, caller, 0L, 0L);
  errno = saved;
}

/* Reports a marker with the first bytes of its name. */
static void tell_name(enum terrace_trace_event event, const char* name) {
  const int saved = errno;
  long words[TERRACE_TRACE_NAME / sizeof(long)] = {0};
  char* const to = (char*)words;
  for (size_t i = 0; name && name[i] && i < sizeof words; ++i) to[i] = name[i];
  syscall(TERRACE_TRACE_CALL, (long)event, words[0], words[1], words[2], words[3], words[4]);
  errno = saved;
}

/* --- blocks
 * ------------------------------------------------------------------------------------------------------ */

static void* tell_block(void* block, size_t size, const void* caller) {
  if (block && size >= TERRACE_TRACE_LEAST_BLOCK) tell(TERRACE_TRACE_ALLOCATE, block, size, caller);
  return block;
}

static void tell_release(void* block) {
  if (block && malloc_usable_size(block) >= TERRACE_TRACE_LEAST_BLOCK) tell(TERRACE_TRACE_RELEASE, block, 0, NULL);
}

/* Implements realloc(3), and reports the release of the old block and the new one. */
static void* resize(void* block, size_t size, const void* caller) {
  const size_t before = block ? malloc_usable_size(block) : 0;
  tell_release(block);
  void* const got = __libc_realloc(block, size);
  if (!got && size > 0) tell_block(block, before, caller); /* it stays */
  return tell_block(got, size, caller);
}

static void* align(size_t alignment, size_t size, const void* caller) {
  return tell_block(__libc_memalign(alignment, size), size, caller);
}

EXPORT void* malloc(size_t size) { return tell_block(__libc_malloc(size), size, CALLER); }

EXPORT void* calloc(size_t count, size_t size) {
  return tell_block(__libc_calloc(count, size), count * size, CALLER);
}

EXPORT void free(void* block) {
  tell_release(block);
  __libc_free(block);
}

EXPORT void* realloc(void* block, size_t size) { return resize(block, size, CALLER); }

EXPORT void* reallocarray(void* block, size_t count, size_t size) {
  size_t total = 0;
  if (__builtin_mul_overflow(count, size, &total)) {
    errno = ENOMEM;
    return NULL;
  }
  return resize(block, total, CALLER);
}

EXPORT void* memalign(size_t alignment, size_t size) { return align(alignment, size, CALLER); }

EXPORT void* aligned_alloc(size_t alignment, size_t size) { return align(alignment, size, CALLER); }

EXPORT int posix_memalign(void** block, size_t alignment, size_t size) {
  if (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
  const int saved = errno;
  void* const got = align(alignment, size, CALLER);
  errno = saved;
  if (!got) return ENOMEM;
  *block = got;
  return 0;
}

EXPORT void* valloc(size_t size) { return align((size_t)getpagesize(), size, CALLER); }

EXPORT void* pvalloc(size_t size) {
  const size_t page = (size_t)getpagesize();
  return align(page, (size + page - 1) & ~(page - 1), CALLER);
}

/* --- markers (terrace.h)
 * ----------------------------------------------------------------------------------------- */

EXPORT void terrace_loop_begin(const char* name) { tell_name(TERRACE_TRACE_LOOP_BEGIN, name); }
EXPORT void terrace_phase(const char* name) { tell_name(TERRACE_TRACE_PHASE, name); }
EXPORT void terrace_loop_end(void) { tell_name(TERRACE_TRACE_LOOP_END, ""); }

/* --- memory functions, in a section of their own
 * ----------------------------------------------------------------- */

typedef long long Words __attribute__((vector_size(16), aligned(1), may_alias));

MEMORY void* memcpy(void* restrict to, const void* restrict from, size_t size) {
  char* at = to;
  const char* source = from;
  for (; size >= sizeof(Words); size -= sizeof(Words), at += sizeof(Words), source += sizeof(Words))
    *(Words*)at = *(const Words*)source;
  for (; size > 0; --size) *at++ = *source++;
  return to;
}

MEMORY void* memmove(void* to, const void* from, size_t size) {
  if ((uintptr_t)to - (uintptr_t)from >= size) return memcpy(to, from, size);
  char* at = (char*)to + size;
  const char* source = (const char*)from + size;
  for (; size >= sizeof(Words); size -= sizeof(Words)) {
    at -= sizeof(Words);
    source -= sizeof(Words);
    *(Words*)at = *(const Words*)source;
  }
  for (; size > 0; --size) *--at = *--source;
  return to;
}

MEMORY void* memset(void* to, int value, size_t size) {
  const long long eight = (long long)(0x0101010101010101ULL * (unsigned char)value);
  const Words words = {eight, eight};
  char* at = to;
  for (; size >= sizeof(Words); size -= sizeof(Words), at += sizeof(Words)) *(Words*)at = words;
  for (; size > 0; --size) *at++ = (char)value;
  return to;
}

MEMORY void* mempcpy(void* restrict to, const void* restrict from, size_t size) {
  return (char*)memcpy(to, from, size) + size;
}

/* What the compiler calls under _FORTIFY_SOURCE: `room` is what it knows of the target. */
void __chk_fail(void) __attribute__((noreturn));

MEMORY void* __memcpy_chk(void* restrict to, const void* restrict from, size_t size, size_t room) {
  if (size > room) __chk_fail();
  return memcpy(to, from, size);
}

MEMORY void* __memmove_chk(void* to, const void* from, size_t size, size_t room) {
  if (size > room) __chk_fail();
  return memmove(to, from, size);
}

MEMORY void* __memset_chk(void* to, int value, size_t size, size_t room) {
  if (size > room) __chk_fail();
  return memset(to, value, size);
}

extern const char __start_terrace_memory[];
extern const char __stop_terrace_memory[];

__attribute__((constructor)) static void tell_memory_functions(void) {
  tell(TERRACE_TRACE_MEMORY_FUNCTIONS, __start_terrace_memory,
       (size_t)(__stop_terrace_memory - __start_terrace_memory), NULL);
}
