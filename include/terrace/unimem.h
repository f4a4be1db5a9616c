/* SPDX-License-Identifier: Apache-2.0 */
/* unimem.h: implements the five calls of Unimem (Wu, Huang, Li, SC'17, section 3.2) on Terrace.
 *
 * unimem_init   Initialises; called once, before the others. Returns 0, or -1 if the program was not started by
 *               terrace (the other calls are then harmless).
 * unimem_malloc Allocates a data object that may be migrated between fast and slow memory; `name` is its name in
 *               reports.
 * unimem_start  Marks the beginning of the main computation loop.
 * unimem_end    Marks its end.
 * unimem_free   Releases an object of unimem_malloc.
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
