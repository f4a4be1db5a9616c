/* hbwmalloc.h: the calls of memkind's hbwmalloc interface under their own names, on Terrace.
 *
 * `#include <hbwmalloc.h>` finds this header with -I PREFIX/include/terrace, or with what `pkg-config --cflags
 * terrace-hbw` says; link with -lterrace-hbw, or what `pkg-config --libs terrace-hbw` says. A binary that was
 * linked with libmemkind.so.0 and calls nothing but these functions runs with Terrace's library of that name in
 * LD_LIBRARY_PATH (PREFIX/lib/terrace/memkind). Under `terrace run` the injected library's functions serve,
 * whichever libmemkind.so.0 was found, and data are on the run's account.
 *
 * High bandwidth memory are the machine's places that are faster than where data lie by themselves: those that
 * stand before the home place in the ordering by bandwidth (`terrace machine orderings`), or the nodes that
 * MEMKIND_HBW_NODES names ("1-3,5"). Values, names and errors are memkind's (version 1.14). What differs: pages
 * come with the call and not with the first touch, so a block that does not fit is refused and nothing is killed
 * for want of memory later; a tenth of each place is left free as long as another has room.
 *
 * Every function may be called from any thread. */
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

typedef enum {
  HBW_POLICY_BIND = 1,       /* the nearest fast node alone; NULL and ENOMEM where it has no room */
  HBW_POLICY_PREFERRED = 2,  /* the nearest fast node, then the others; the default */
  HBW_POLICY_INTERLEAVE = 3, /* all fast nodes in turn, small page by small page; NULL and ENOMEM without room */
  HBW_POLICY_BIND_ALL = 4    /* all fast nodes, the nearest first; NULL and ENOMEM without room */
} hbw_policy_t;

typedef enum {
  HBW_PAGESIZE_4KB = 1,
  HBW_PAGESIZE_2MB = 2,        /* of the system's pool of huge pages (/proc/sys/vm/nr_hugepages) */
  HBW_PAGESIZE_1GB_STRICT = 3, /* the same with pages of 1 GiB; the size is a multiple of that */
  HBW_PAGESIZE_1GB = 4,        /* of any size */
  HBW_PAGESIZE_MAX_VALUE       /* none */
} hbw_pagesize_t;

enum { HBW_TOUCH_PAGES = 1 << 0 };

/* 0, or ENODEV: this machine has no high bandwidth memory. */
TERRACE_HBW_PUBLIC int hbw_check_available(void);

TERRACE_HBW_PUBLIC hbw_policy_t hbw_get_policy(void);
/* 0, once, before the first allocation; EINVAL: there is no such policy; EPERM: later than that. */
TERRACE_HBW_PUBLIC int hbw_set_policy(hbw_policy_t mode);

/* NULL where the size is 0, or there is no memory by the policy (ENOMEM). hbw_free takes what any of these gives,
 * hbw_realloc what any but hbw_posix_memalign_psize does. */
TERRACE_HBW_PUBLIC void* hbw_malloc(size_t size);
TERRACE_HBW_PUBLIC void* hbw_calloc(size_t nmemb, size_t size);
TERRACE_HBW_PUBLIC void* hbw_realloc(void* ptr, size_t size);
TERRACE_HBW_PUBLIC void hbw_free(void* ptr);
TERRACE_HBW_PUBLIC size_t hbw_malloc_usable_size(void* ptr);

/* 0; EINVAL: the alignment is no power of two or no multiple of a pointer's size, or, with page sizes, the page
 * size is none, or one that HBW_POLICY_INTERLEAVE does not have, or does not divide the size (1GB_STRICT); ENOMEM.
 * A size of 0 gives 0, and NULL. */
TERRACE_HBW_PUBLIC int hbw_posix_memalign(void** memptr, size_t alignment, size_t size);
TERRACE_HBW_PUBLIC int hbw_posix_memalign_psize(void** memptr, size_t alignment, size_t size,
                                                hbw_pagesize_t pagesize);

/* 0: all pages of [addr, addr + size) are in high bandwidth memory; -1: one is not, or is not there; EINVAL: addr
 * is NULL, size is 0, or flags has a bit but HBW_TOUCH_PAGES; EFAULT: a part is not mapped. With HBW_TOUCH_PAGES
 * pages that are not there come first, as by a write that changes nothing. */
TERRACE_HBW_PUBLIC int hbw_verify_memory_region(void* addr, size_t size, int flags);

#ifdef __cplusplus
}
#endif

#endif
