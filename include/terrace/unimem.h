/* unimem.h: the five calls of Unimem (Wu, Huang, Li, SC'17, section 3.2) under their own names, on Terrace.
 *
 * unimem_init   once, before any other of these calls. Returns 0, or -1 when the program was not started by
 *               terrace (the other calls then are harmless).
 * unimem_malloc a data object that may be moved between fast and slow memory; `name` is its name in reports.
 * unimem_start  right before the main computation loop.
 * unimem_end    right after it.
 * unimem_free   releases an object of unimem_malloc.
 */
#ifndef TERRACE_UNIMEM_H
#define TERRACE_UNIMEM_H

#include <terrace/terrace.h>

#ifdef __cplusplus
extern "C" {
#endif

TERRACE_PUBLIC int unimem_init(void);
TERRACE_PUBLIC void unimem_start(void);
TERRACE_PUBLIC void unimem_end(void);
TERRACE_PUBLIC void* unimem_malloc(size_t size, const char* name);
TERRACE_PUBLIC void unimem_free(void* address);

#ifdef __cplusplus
}
#endif

#endif
