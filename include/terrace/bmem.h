/* SPDX-License-Identifier: Apache-2.0 */
/* bmem.h: memory of devices that compute inside it, under the names of the study that asked for it (MCHPC'17, "Bit
 * contiguous memory allocation for processing in memory", section 4.3).
 *
 * Such a device is an array of bits: banks of subarrays of rows of columns. An operation works on all columns of a
 * row at once, so what belongs together must lie together: a block is a rectangle, so many whole rows of so many
 * neighbouring subarrays, and a row of one subarray is the least that can be had. Vertical vectors have their
 * elements down the columns, horizontal ones along the rows.
 *
 *     bmem_init(1024, 65536, 16, 8);               // rows, columns, subarrays, banks: 1 GiB
 *     void* a = bmem_malloc(4096, BMEM_HORI);
 *     void* b = bmem_malloc_elements(65536, 64, BMEM_VERT);   // 65,536 numbers of 64 bits: 64 rows of a subarray
 *     void* c = bmem_malloc_raw(2, 17);            // 2 subarrays, 17 rows
 *     bmem_free(a); bmem_free(b); bmem_free(c);
 *     bmem_dtor();
 *
 * What these functions return are handles, not addresses of this process: bmem_block_of() says where a block lies.
 * A request fails only when no rectangle of its shape is free. All functions may be called from any thread;
 * bmem_init and bmem_dtor not beside others. Those that can fail return a bmem_status other than BMEM_OK, or NULL;
 * bmem_last_error() then has the reason, for each thread. Nothing here aborts.
 *
 * With BMEM_TRACE=FILE in the environment each device's requests are written to FILE (FILE.2, ... where that is
 * there), for `terrace lab pim FILE`.
 *
 * Define BMEM_NO_SHORT_NAMES to be spared the study's HORI and VERT. C++: terrace/bmem.hpp. */
#ifndef TERRACE_BMEM_H
#define TERRACE_BMEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BMEM_PUBLIC __attribute__((visibility("default")))
#else
#define BMEM_PUBLIC
#endif

typedef enum bmem_status {
  BMEM_OK = 0,
  BMEM_INVALID = 1,   /* an argument makes no sense: zero, or more than an empty device holds */
  BMEM_NO_ROOM = 2,   /* no such rectangle is free */
  BMEM_RELEASED = 3,  /* the block was released before */
  BMEM_FOREIGN = 4,   /* not a handle that these functions gave out */
  BMEM_NOT_READY = 5, /* bmem_init was not called, or bmem_dtor was */
  BMEM_NO_MEMORY = 6  /* this process has none left for the accounts */
} bmem_status;

typedef enum bmem_dim { BMEM_HORI = 0, BMEM_VERT = 1 } BMEM_DIM;
#ifndef BMEM_NO_SHORT_NAMES
#define HORI BMEM_HORI
#define VERT BMEM_VERT
#endif

typedef enum bmem_fit {
  BMEM_FIRST = 0, /* the lowest row, there the lowest subarray, of the first bank that has room */
  BMEM_BEST = 1 /* where the free run (of subarrays, or vertically of rows) is the shortest; looks at all banks */
} bmem_fit;

typedef enum bmem_within { BMEM_DEVICE = 0, BMEM_BANK = 1, BMEM_SUBARRAY = 2 } bmem_within;

/* Everything that can be asked of a block. Zero means "any" in all but `rows` and `subarrays`. */
typedef struct bmem_request {
  uint32_t subarrays;
  uint32_t rows;
  BMEM_DIM dim; /* along which BMEM_BEST is tight */
  bmem_fit fit;
  bmem_within within;          /* what the block may not leave */
  uint32_t row_alignment;      /* the first row is a multiple of it */
  uint32_t subarray_alignment; /* the first subarray, counted through its device, is a multiple of it */
  const void* beside;          /* a block with which it is to share ... */
  bmem_within share;           /* ... the device, the bank, or the first subarray */
} bmem_request;

/* Where a block lies: its first bit is column 0 of this row. */
typedef struct bmem_block {
  uint32_t device, bank, subarray, row;
  uint32_t subarrays, rows;
  uint64_t bytes;
} bmem_block;

typedef struct bmem_usage {
  uint64_t rows; /* of all subarrays of all devices */
  uint64_t free_rows;
  uint64_t row_bytes;
} bmem_usage;

/* One device; there are `columns` bits in a row, a multiple of 8, `subarrays` in each bank. */
BMEM_PUBLIC bmem_status bmem_init(uint32_t rows, uint32_t columns, uint32_t subarrays, uint32_t banks);
/* Several such devices. A block lies on one of them. */
BMEM_PUBLIC bmem_status bmem_init_devices(uint32_t rows, uint32_t columns, uint32_t subarrays, uint32_t banks,
                                          uint32_t devices);
/* Forgets device and blocks; handles from before are foreign to the next. */
BMEM_PUBLIC bmem_status bmem_dtor(void);

/* Room for `bytes`: horizontally in as few rows as can be, vertically in as few subarrays. */
BMEM_PUBLIC void* bmem_malloc(size_t bytes, BMEM_DIM dim);
/* Room for `count` elements of `bits` bits each. Vertically `bits` rows deep, an element in a column; horizontally
 * no element crosses from one subarray into the next. */
BMEM_PUBLIC void* bmem_malloc_elements(uint64_t count, uint32_t bits, BMEM_DIM dim);
BMEM_PUBLIC void* bmem_malloc_raw(uint32_t subarrays, uint32_t rows);
/* The same for any request; `block` receives the handle, or NULL. */
BMEM_PUBLIC bmem_status bmem_malloc_request(const bmem_request* request, void** block);
/* All of `count` requests (1 to 8), or none: blocks of one bank, of one device, or (BMEM_SUBARRAY) with the same
 * first subarray, as the operands of one operation must. `blocks` receives the handles. They are
 * placed first fit, and beside one another: `fit` and `beside` must be zero. */
BMEM_PUBLIC bmem_status bmem_malloc_group(const bmem_request* requests, size_t count, bmem_within share,
                                          void** blocks);
/* `rows` and `subarrays` of what bmem_malloc and bmem_malloc_elements would ask for, for a request of one's own.
 */
BMEM_PUBLIC bmem_status bmem_shape(size_t bytes, BMEM_DIM dim, bmem_request* request);
BMEM_PUBLIC bmem_status bmem_shape_elements(uint64_t count, uint32_t bits, BMEM_DIM dim, bmem_request* request);

/* NULL is no block, and no error. */
BMEM_PUBLIC bmem_status bmem_free(void* block);

BMEM_PUBLIC bmem_status bmem_block_of(const void* block, bmem_block* where);
BMEM_PUBLIC bmem_status bmem_usage_of(bmem_usage* usage);

/* The reason of the last failure on this thread, in one line; "" when there was none. Valid until the next one. */
BMEM_PUBLIC const char* bmem_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
