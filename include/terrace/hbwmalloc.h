/* SPDX-License-Identifier: Apache-2.0 */
/* hbwmalloc.h: declares memkind's hbwmalloc interface, which Terrace implements for programs written for memkind.
 *
 * Compile with -I PREFIX/include/terrace or `pkg-config --cflags terrace-hbw`, so that `#include <hbwmalloc.h>`
 * finds this header. Link with -lterrace-hbw or `pkg-config --libs terrace-hbw`. A binary that was linked with
 * libmemkind.so.0 and calls only these functions runs with Terrace's library of that name in LD_LIBRARY_PATH
 * (PREFIX/lib/terrace/memkind). Under `terrace run` the functions of the injected library are used, whichever
 * libmemkind.so.0 was found, and the memory is charged to the run.
 *
 * High bandwidth memory: the places that rank before the home place, where data is by default, in the ordering
 * by bandwidth (`terrace machine orderings`); or the nodes that MEMKIND_HBW_NODES names ("1-3,5"). Values, names
 * and errors are memkind's (version 1.14). Differences: pages are populated by the call and not at first touch,
 * so that a block that does not fit is refused, instead of an out-of-memory kill later; and a tenth of each
 * place is left free while another place has capacity.
 *
 * All functions are thread-safe. */
#ifndef TERRACE_HBWMALLOC_H
#define TERRACE_HBWMALLOC_H

#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TERRACE_HBW_PUBLIC __attribute__((visibility("default")))
#else
#define TERRACE_HBW_PUBLIC
#endif

/* Which places an allocation may use, and in which order. */
typedef enum {
  HBW_POLICY_BIND = 1,       /* the nearest fast node only; NULL and ENOMEM if it is full */
  HBW_POLICY_PREFERRED = 2,  /* the nearest fast node, then ordinary memory, nearest first; the default */
  HBW_POLICY_INTERLEAVE = 3, /* all fast nodes round-robin by small page; NULL and ENOMEM if they are full */
  HBW_POLICY_BIND_ALL = 4    /* all fast nodes, nearest first; NULL and ENOMEM if they are full */
} hbw_policy_t;

/* Page sizes of hbw_posix_memalign_psize. */
typedef enum {
  HBW_PAGESIZE_4KB = 1,
  HBW_PAGESIZE_2MB = 2,        /* from the system's hugetlb pool (/proc/sys/vm/nr_hugepages) */
  HBW_PAGESIZE_1GB_STRICT = 3, /* 1 GiB pages of that pool; the size is a multiple of 1 GiB */
  HBW_PAGESIZE_1GB = 4,        /* 1 GiB pages, any size */
  HBW_PAGESIZE_MAX_VALUE       /* not a page size */
} hbw_pagesize_t;

/* Flags of hbw_verify_memory_region. */
enum { HBW_TOUCH_PAGES = 1 << 0 };

/* Returns 0, or ENODEV if the machine has no high bandwidth memory. */
TERRACE_HBW_PUBLIC int hbw_check_available(void);

/* Returns the policy of later allocations. */
TERRACE_HBW_PUBLIC hbw_policy_t hbw_get_policy(void);
/* Sets the policy, once, before the first allocation. Returns 0, EINVAL for an unknown policy, or EPERM if it is
 * too late. */
TERRACE_HBW_PUBLIC int hbw_set_policy(hbw_policy_t mode);

/* Return NULL if the size is 0, or if the policy's places are full (ENOMEM). hbw_free accepts blocks of all
 * functions here; hbw_realloc those of all but hbw_posix_memalign_psize. */
TERRACE_HBW_PUBLIC void* hbw_malloc(size_t size);
TERRACE_HBW_PUBLIC void* hbw_calloc(size_t nmemb, size_t size);
TERRACE_HBW_PUBLIC void* hbw_realloc(void* ptr, size_t size);
TERRACE_HBW_PUBLIC void hbw_free(void* ptr);
TERRACE_HBW_PUBLIC size_t hbw_malloc_usable_size(void* ptr);

/* Allocate at a multiple of `alignment`. Return 0; ENOMEM; or EINVAL: the alignment is not a power of two or not a
 * multiple of a pointer's size; the page size is unknown, unsupported by HBW_POLICY_INTERLEAVE, or does not divide
 * the size (1GB_STRICT). A size of 0 returns 0, and NULL in `memptr`. */
TERRACE_HBW_PUBLIC int hbw_posix_memalign(void** memptr, size_t alignment, size_t size);
TERRACE_HBW_PUBLIC int hbw_posix_memalign_psize(void** memptr, size_t alignment, size_t size,
                                                hbw_pagesize_t pagesize);

/* Checks the placement of [addr, addr + size). Returns 0: all pages are in high bandwidth memory; -1: a page is
 * elsewhere or not resident; EINVAL: addr is NULL, size is 0, or flags has unknown bits; EFAULT: a
 * part is not mapped. HBW_TOUCH_PAGES populates absent pages first, like a write that changes nothing. */
TERRACE_HBW_PUBLIC int hbw_verify_memory_region(void* addr, size_t size, int flags);

#ifdef __cplusplus
}
#endif

#endif
