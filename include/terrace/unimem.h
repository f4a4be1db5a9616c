/* SPDX-License-Identifier: Apache-2.0 */
/* unimem.h: declares the five calls of Unimem (Wu, Huang, Li, SC'17, section 3.2), which Terrace implements for
 * programs written for Unimem. */
#ifndef TERRACE_UNIMEM_H
#define TERRACE_UNIMEM_H

#include <terrace/terrace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Initialises; called once, before the others. Returns 0, or -1 if the program was not started by terrace: the
 * other calls are then harmless. */
TERRACE_PUBLIC int unimem_init(void);

/* Mark the beginning and the end of the main computation loop. */
TERRACE_PUBLIC void unimem_start(void);
TERRACE_PUBLIC void unimem_end(void);

/* Allocates a data object that may be migrated between fast and slow memory; `name` is its name in reports. */
TERRACE_PUBLIC void* unimem_malloc(size_t size, const char* name);
/* Releases an object of unimem_malloc. */
TERRACE_PUBLIC void unimem_free(void* address);

#ifdef __cplusplus
}
#endif

#endif
