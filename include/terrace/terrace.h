/* SPDX-License-Identifier: Apache-2.0 */
/* terrace.h: declares the C interface of Terrace, by which a program names its data, phases and intents.
 *
 * Terrace learns what a program does with each of its data objects in each phase of its main loop, and
 * puts and moves the data among the machine's memories accordingly. A program needs none of these calls:
 * objects are found by interposition and phases by function entries. With them, names are the author's and
 * phase boundaries are exact.
 *
 * Every function may be called at any time, from any thread, also when the program was not started by
 * `terrace`: allocation is then plain allocation, and the markers have no effect. No function ever aborts.
 * Functions that can fail return a terrace_status or NULL; terrace_last_error() gives the reason as text,
 * kept per thread.
 *
 * A main loop reads:
 *
 *     terrace_loop_begin("main");
 *     for (int it = 0; it < niter; ++it) {
 *       terrace_phase("smooth");     // an iteration begins at each recurrence of its first phase
 *       ...
 *       terrace_phase("restrict");
 *       ...
 *     }
 *     terrace_loop_end();
 */
#ifndef TERRACE_TERRACE_H
#define TERRACE_TERRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TERRACE_VERSION_MAJOR 0
#define TERRACE_VERSION_MINOR 1

#if defined(__GNUC__)
#define TERRACE_PUBLIC __attribute__((visibility("default")))
#else
#define TERRACE_PUBLIC
#endif

/* Result of a function that can fail. */
typedef enum terrace_status {
  TERRACE_OK = 0,
  TERRACE_INVALID = 1,    /* an argument is invalid: null, zero size, unknown name */
  TERRACE_NO_MEMORY = 2,  /* no place has free capacity */
  TERRACE_NOT_ACTIVE = 3, /* the program was not started by terrace; nothing was done */
  TERRACE_UNSUPPORTED = 4 /* this machine or backend cannot do it */
} terrace_status;

/* Returns the reason of the last failure on this thread, in one line, or "" if there was none. Valid until the
 * next failing call on the thread. */
TERRACE_PUBLIC const char* terrace_last_error(void);

/* Returns 1 if the program runs under terrace (record, run or simulate), else 0. */
TERRACE_PUBLIC int terrace_active(void);

/* --- phases ------------------------------------------------------------------------------------------ */

/* Marks the beginning of the main loop. Code before it is the phase "before", code after its end is "after".
 * `name` may be NULL. A second loop in one run replaces the first: it is profiled and planned anew. */
TERRACE_PUBLIC void terrace_loop_begin(const char* name);

/* Marks the end of the main loop. Phase markers outside a loop have no effect. */
TERRACE_PUBLIC void terrace_loop_end(void);

/* Begins the phase `name` and ends the previous one. A new iteration begins at each recurrence of the loop's first
 * phase. The string is copied at its first use. */
TERRACE_PUBLIC void terrace_phase(const char* name);

/* --- objects ----------------------------------------------------------------------------------------- */

/* Allocates `size` bytes, page-aligned, as one object named `name` (copied). Returns NULL if there is no memory or
 * size is 0. A second object of the same name becomes "name#2". Free with terrace_free. */
TERRACE_PUBLIC void* terrace_malloc(const char* name, size_t size);
TERRACE_PUBLIC void terrace_free(void* address);

/* Registers existing memory (a static array, a part of a heap block) as an object of its own: [address,
 * address+size). Objects consist of whole pages: the first and the last page belong to the object that covers more
 * of them. */
TERRACE_PUBLIC terrace_status terrace_object(const char* name, void* address, size_t size);

/* Unregisters the object that begins at `address`; its memory stays valid. */
TERRACE_PUBLIC terrace_status terrace_forget(void* address);

/* Returns the place of the byte at `address` by its name in the machine file, or NULL if Terrace does not know it.
 * The string lives as long as the program. */
TERRACE_PUBLIC const char* terrace_where(const void* address);

/* --- places by intent -------------------------------------------------------------------------------- */

/* An intent is "bandwidth", "latency", "capacity", "normal", or a name that the machine file defines. For each
 * intent the machine has an ordering of its places (`terrace machine orderings`). A range fills the first place
 * of the ordering down to its free watermark, a tenth of the place by default (`terrace run --watermark`), then the
 * next one, in the order of addresses. Processes of a job that fill places concurrently share one ledger. If all
 * places are at their watermarks, the one with the most free capacity is used.
 *
 * Requires `terrace run` on real memory. An unknown intent is refused, and the error text lists the known ones.
 * Under `terrace run --memory` nothing is placed: terrace_alloc gives memory like malloc, within the limit, and
 * the functions that return a terrace_status return TERRACE_UNSUPPORTED. */

/* Allocates `size` bytes of zeros, page-aligned, populated and placed at once: intended for data that will all
 * be used. Returns NULL if the intent is unknown, size is 0, or there is no memory. If only the placement
 * failed, returns memory where the kernel puts it, and terrace_last_error() gives the reason. Without `terrace
 * run`, and with --memory: plain allocation, whatever the intent. Free with terrace_free or free. */
TERRACE_PUBLIC void* terrace_alloc(size_t size, const char* intent);

/* Allocates `size` uninitialised bytes at a multiple of `alignment`. Suitable for many small blocks: those of up
 * to 1 MiB share pages with others of their intent. Returns NULL in the cases above, and if `alignment` is not a
 * power of two. Free with terrace_free or free. May be passed to realloc, which keeps a small block's intent. */
TERRACE_PUBLIC void* terrace_aligned_alloc(size_t size, size_t alignment, const char* intent);

/* Places the whole pages in [address, address+length), which must be private memory: migrates resident pages, and
 * populates the others. The range no longer belongs to an object, and later migrations leave it in place. munmap
 * releases it from the ledger; mremap takes its placement along. Errors:
 *
 * - TERRACE_INVALID: the intent is unknown, the range contains no whole page, or a part of it is not mapped.
 * - TERRACE_NO_MEMORY: no place has capacity for all of it within the job's budget; the rest is left to the kernel.
 * - TERRACE_UNSUPPORTED: under `terrace run --memory`, in virtual time, or if the system refuses to place a part. */
TERRACE_PUBLIC terrace_status terrace_apply(void* address, size_t length, const char* intent);

/* Sets the intent of the calling thread's later allocations (malloc and related functions, new, Fortran's
 * allocate). Each chunk of a block is placed at its first touch; a chunk is 2 MiB, for large blocks up to 32
 * MiB. Blocks of up to 1 MiB share chunks that are populated at once. NULL: use the run's intent (`terrace run
 * --intent`), if any. */
TERRACE_PUBLIC terrace_status terrace_intent(const char* intent);

/* Returns the calling thread's intent as set by terrace_intent, or NULL. The string lives as long as the
 * program. */
TERRACE_PUBLIC const char* terrace_current_intent(void);

/* --- hints ------------------------------------------------------------------------------------------- */

/* Hints state what is known before anything has been profiled. A user's hint for the same name, in a file or by
 * --define, takes precedence. Of two calls for the same name the later one takes effect. All strings are copied. */

/* Defines the variable `name` of expressions: "niter" is 75. Names have letters, digits, _ and ., not a digit
 * first. */
TERRACE_PUBLIC terrace_status terrace_value(const char* name, double value);

/* States how often the program references memory of `object`, as an expression: "2*nnz*niter",
 * "bytes(\"u\")/8*niter". Operators are + - * / ^, parentheses, min and max; numbers may have units of sizes.
 * The most referenced objects are in fast memory when the main loop begins, or from their allocation on if their
 * variables are defined then. `object` is a name as `terrace show` prints it, or a shell pattern, which applies
 * to each matching object. Call it before the main loop, before or after the allocation. Returns TERRACE_INVALID
 * if the expression is malformed. */
TERRACE_PUBLIC terrace_status terrace_refs(const char* object, const char* expression);

/* States that phase `phase` uses `object` (`used` != 0) or does not (0), whatever was observed. Determines how
 * early the object may be migrated, and which objects are evicted for others. Both are names or patterns. */
TERRACE_PUBLIC terrace_status terrace_depends(const char* phase, const char* object, int used);

/* --- time -------------------------------------------------------------------------------------------- */

/* Returns the seconds since the program started: virtual seconds under `terrace simulate`, else the monotonic
 * clock. */
TERRACE_PUBLIC double terrace_seconds(void);

#ifdef __cplusplus
}
#endif

#endif
