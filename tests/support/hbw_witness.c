/* Stands before a library of hbwmalloc's functions (LD_PRELOAD): it counts the calls of each, and the function
 * that HBW_WRONG names does not do what the manual says. A test that does not see that has no test of it. At the
 * end of a process that called any, a line for each function is added to the file that HBW_COUNTS names:
 * "hbw_malloc 4711". */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <hbwmalloc.h>
#include <stdio.h>
#include <string.h>

#define EACH(X)                                                                                          \
  X(hbw_check_available)                                                                                 \
  X(hbw_get_policy)                                                                                      \
  X(hbw_set_policy)                                                                                      \
  X(hbw_malloc)                                                                                          \
  X(hbw_calloc)                                                                                          \
  X(hbw_realloc) X(hbw_free) X(hbw_malloc_usable_size) X(hbw_posix_memalign) X(hbw_posix_memalign_psize) \
      X(hbw_verify_memory_region)
#define NUMBER(name) k_##name,
enum { EACH(NUMBER) k_count };
#define NAME(name) #name,
static const char* const k_names[] = {EACH(NAME)};

static unsigned long g_counts[k_count];
static void* g_own[k_count];
static int g_wrong = -1;

__attribute__((constructor)) static void begin(void) {
  const char* const wrong = getenv("HBW_WRONG");
  for (int i = 0; i < k_count; ++i) {
    g_own[i] = dlsym(RTLD_NEXT, k_names[i]);
    if (wrong && strcmp(wrong, k_names[i]) == 0) g_wrong = i;
  }
}

__attribute__((destructor)) static void end(void) {
  const char* const path = getenv("HBW_COUNTS");
  FILE* const file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  for (int i = 0; i < k_count; ++i) fprintf(file, "%s %lu\n", k_names[i], g_counts[i]);
  fclose(file);
}

static int is_wrong(int number) {
  __atomic_fetch_add(&g_counts[number], 1, __ATOMIC_RELAXED);
  return g_wrong == number;
}

#define OWN(name) ((__typeof__(&name))g_own[k_##name])

int hbw_check_available(void) {
  const int answer = OWN(hbw_check_available)();
  return is_wrong(k_hbw_check_available) ? ENODEV - answer : answer;
}

hbw_policy_t hbw_get_policy(void) {
  const hbw_policy_t answer = OWN(hbw_get_policy)();
  return is_wrong(k_hbw_get_policy) ? (hbw_policy_t)(answer % 4 + 1) : answer;
}

/* It takes the mode, and takes it again when it is too late. */
int hbw_set_policy(hbw_policy_t mode) {
  const int answer = OWN(hbw_set_policy)(mode);
  return is_wrong(k_hbw_set_policy) && answer == EPERM ? 0 : answer;
}

/* Half of what was asked for. */
void* hbw_malloc(size_t size) { return OWN(hbw_malloc)(is_wrong(k_hbw_malloc) && size > 1 ? size / 2 : size); }

/* Not zeros. */
void* hbw_calloc(size_t nmemb, size_t size) {
  void* const block = OWN(hbw_calloc)(nmemb, size);
  if (is_wrong(k_hbw_calloc) && block) memset(block, 1, 1);
  return block;
}

/* Contents are lost. */
void* hbw_realloc(void* ptr, size_t size) {
  if (!is_wrong(k_hbw_realloc) || !ptr || size == 0) return OWN(hbw_realloc)(ptr, size);
  OWN(hbw_free)(ptr);
  return OWN(hbw_calloc)(1, size);
}

/* Nothing is given back. */
void hbw_free(void* ptr) {
  if (!is_wrong(k_hbw_free)) OWN(hbw_free)(ptr);
}

size_t hbw_malloc_usable_size(void* ptr) {
  const size_t size = OWN(hbw_malloc_usable_size)(ptr);
  return is_wrong(k_hbw_malloc_usable_size) ? size / 2 : size;
}

/* Aligned to half of what was asked for, where a pointer still is. */
static size_t halved(int is_wrong, size_t alignment) {
  return is_wrong && alignment > sizeof(void*) ? alignment / 2 : alignment;
}

int hbw_posix_memalign(void** memptr, size_t alignment, size_t size) {
  return OWN(hbw_posix_memalign)(memptr, halved(is_wrong(k_hbw_posix_memalign), alignment), size);
}

int hbw_posix_memalign_psize(void** memptr, size_t alignment, size_t size, hbw_pagesize_t pagesize) {
  alignment = halved(is_wrong(k_hbw_posix_memalign_psize), alignment);
  return OWN(hbw_posix_memalign_psize)(memptr, alignment, size, pagesize);
}

/* All is high bandwidth memory. */
int hbw_verify_memory_region(void* addr, size_t size, int flags) {
  const int answer = OWN(hbw_verify_memory_region)(addr, size, flags);
  return is_wrong(k_hbw_verify_memory_region) && answer == -1 ? 0 : answer;
}
