/* terrace.h: the C interface of Terrace.
 *
 * Terrace learns what a program does with each of its data objects in each phase of its main loop, and
 * puts and moves the data among the machine's memories accordingly. A program needs none of these calls:
 * objects are found by interposition and phases by function entries. With them, names are the author's and
 * phase boundaries are exact.
 *
 * Every function may be called at any time, from any thread, also when the program was not started by
 * `terrace`: allocation then is plain allocation and the markers do nothing. Nothing here ever aborts.
 * Functions that can fail return a terrace_status or NULL; terrace_last_error() gives the reason as text,
 * kept per thread.
 *
 * A main loop reads:
 *
 *     terrace_loop_begin("main");
 *     for (int it = 0; it < niter; ++it) {
 *       terrace_phase("smooth");     // an iteration begins where its first phase comes round again
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

typedef enum terrace_status {
  TERRACE_OK = 0,
  TERRACE_INVALID = 1,    /* an argument makes no sense: null, zero size, unknown name */
  TERRACE_NO_MEMORY = 2,  /* no place has room */
  TERRACE_NOT_ACTIVE = 3, /* the program was not started by terrace; nothing was done */
  TERRACE_UNSUPPORTED = 4 /* this machine or backend cannot do it */
} terrace_status;

/* The reason of the last failure on this thread, in one line; "" when there was none. Valid until the next
 * failing call on the thread. */
TERRACE_PUBLIC const char* terrace_last_error(void);

/* 1 when the program runs under terrace (record, run or simulate), else 0. */
TERRACE_PUBLIC int terrace_active(void);

/* --- phases ------------------------------------------------------------------------------------------ */

/* The main loop begins. What runs before it is the phase "before", what runs after its end is "after".
 * `name` may be NULL. A second loop in one run replaces the first: it is profiled and planned anew. */
TERRACE_PUBLIC void terrace_loop_begin(const char* name);

/* The main loop is over; phase markers outside of a loop do nothing. */
TERRACE_PUBLIC void terrace_loop_end(void);

/* The phase `name` begins (and the one before it ends). A new iteration begins when the loop's first phase
 * comes round again. The string is copied at its first use. */
TERRACE_PUBLIC void terrace_phase(const char* name);

/* --- objects ----------------------------------------------------------------------------------------- */

/* `size` bytes, page-aligned, as one object named `name` (copied). NULL if there is no memory or size is 0.
 * A second object of the same name becomes "name#2". Free with terrace_free. */
TERRACE_PUBLIC void* terrace_malloc(const char* name, size_t size);
TERRACE_PUBLIC void terrace_free(void* address);

/* Gives a name to memory that exists already (a static array, part of a heap block): [address, address+size)
 * is an object of its own from now on. Its chunks are whole pages: the first and the last page belong to the
 * object that covers more of them. */
TERRACE_PUBLIC terrace_status terrace_object(const char* name, void* address, size_t size);

/* The object is no longer of interest; its memory stays valid. */
TERRACE_PUBLIC terrace_status terrace_forget(void* address);

/* Where the byte at `address` lies: the place's name as the machine file has it, or NULL if it is not known
 * to Terrace. The string lives as long as the program. */
TERRACE_PUBLIC const char* terrace_where(const void* address);

/* --- places by intent -------------------------------------------------------------------------------- */

/* An intent is "bandwidth", "latency", "capacity", "normal", or a name of the machine file's own: for each the
 * machine has an ordering of its places (`terrace machine orderings`). A range that is placed by one fills the
 * first place until a tenth of it is left free (`terrace run --mark`), then the next, in the order of addresses;
 * several processes of a job that fill at once go by one account. When all places are so full, the one with the
 * most room serves. Needs `terrace run` on real memory; an unknown intent is refused, and the text names those
 * that there are. Under `terrace run --memory` nothing is placed: what terrace_alloc gives is data as malloc's,
 * within the limit, and the other two answer TERRACE_UNSUPPORTED. */

/* `size` bytes of zeros, page-aligned, placed at once: what is allocated so should be going to be used. NULL if
 * the intent is unknown, size is 0, or there is no memory; where only the placement failed, memory as the kernel
 * gives it, and the reason is in terrace_last_error(). Without `terrace run`, and with --memory: plain allocation,
 * whatever the intent. Free with terrace_free or free. */
TERRACE_PUBLIC void* terrace_alloc(size_t size, const char* intent);

/* The same, at a multiple of `alignment`, a power of two; any content; for many small blocks as well: those of up
 * to 1 MiB share pages with others of their intent. NULL where `alignment` is no power of two, too. terrace_free,
 * free and realloc take it; realloc keeps a small block's intent. */
TERRACE_PUBLIC void* terrace_aligned_alloc(size_t size, size_t alignment, const char* intent);

/* The whole pages in [address, address+length), private memory: pages that are there are moved, the others come at
 * once. What is in the range is no longer of any object, and stays where it is put; what is unmapped is on no
 * account any more, and what mremap moves goes along. TERRACE_INVALID: the intent is unknown, no whole page is in
 * the range, or a part is not mapped; TERRACE_NO_MEMORY: no place has room for all of it within the job's budget,
 * and the rest is left to the kernel; TERRACE_UNSUPPORTED: under `terrace run --memory`, in virtual time, or the
 * system does not let all of it be placed. */
TERRACE_PUBLIC terrace_status terrace_apply(void* address, size_t length, const char* intent);

/* What the calling thread allocates from now on (malloc and its sisters, new, Fortran's allocate) is placed by the
 * intent, with the first touch of each chunk: 2 MiB, of large blocks up to 32. Blocks of up to 1 MiB lie together
 * in chunks that are there at once. NULL: by the run's intent (`terrace run --intent`), if it has one. */
TERRACE_PUBLIC terrace_status terrace_intent(const char* intent);

/* The calling thread's own intent, as terrace_intent set it; NULL when it has none. The string lives as long as
 * the program. */
TERRACE_PUBLIC const char* terrace_current_intent(void);

/* --- hints ------------------------------------------------------------------------------------------- */

/* What is known before anything was learned. Where the user gives hints of the same, in a file or by --let, these
 * go before. Of two calls for the same name the later one holds. All strings are copied. */

/* `name`, in expressions, is worth `value`: "niter" is 75. Letters, digits, _ and ., no digit first. */
TERRACE_PUBLIC terrace_status terrace_value(const char* name, double value);

/* How often the program refers to memory of `object`, as an expression: "2*nnz*niter", "bytes(\"u\")/8*niter".
 * Operators + - * / ^, parentheses, min, max; numbers with units of sizes. What is referred to most lies in fast
 * memory when the main loop begins, or from the start where its values are known when it is made. `object` is a
 * name as `terrace show` prints it, or a pattern of the shell, for each object that it matches. Call it before the
 * main loop, before or after the object is made. TERRACE_INVALID when the expression is none. */
TERRACE_PUBLIC terrace_status terrace_refs(const char* object, const char* expression);

/* `used` != 0: phase `phase` uses `object`, whatever is seen of it; 0: it does not. Decides how early the object
 * may be moved, and who makes room. Names or patterns. */
TERRACE_PUBLIC terrace_status terrace_depends(const char* phase, const char* object, int used);

/* --- time -------------------------------------------------------------------------------------------- */

/* Seconds since the program began: virtual seconds under `terrace simulate`, else the monotonic clock. */
TERRACE_PUBLIC double terrace_seconds(void);

#ifdef __cplusplus
}
#endif

#endif
