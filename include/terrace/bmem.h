/* SPDX-License-Identifier: Apache-2.0 */
/* bmem.h: declares an allocator for processing in memory (PIM): programs place operands by it in devices that
 * compute inside their memory. The names are those of the study that proposed it (MCHPC'17, "Bit contiguous memory
 * allocation for processing in memory", section 4.3).
 *
 * Such a device is a bit array: banks of subarrays of rows of columns. An operation works on all columns of a
 * row at once, so operands must be placed together: a block is a rectangle of whole rows in neighbouring
 * subarrays. The unit of allocation is a row of one subarray. Vertical vectors have their elements along the
 * columns, horizontal ones along the rows.
 *
 *     bmem_init(1024, 65536, 16, 8);               // rows, columns, subarrays, banks: 1 GiB
 *     void* a = bmem_malloc(4096, BMEM_HORI);
 *     void* b = bmem_malloc_elements(65536, 64, BMEM_VERT);   // 65,536 values of 64 bits: 64 rows of a subarray
 *     void* c = bmem_malloc_raw(2, 17);            // 2 subarrays, 17 rows
 *     bmem_free(a); bmem_free(b); bmem_free(c);
 *     bmem_dtor();
 *
 * The functions return handles, not addresses of this process: bmem_block_of() returns where a block lies. A
 * request fails only if no rectangle of its shape is free. All functions are thread-safe, except that
 * bmem_init and bmem_dtor must not run concurrently with others. On failure functions return a bmem_status
 * other than BMEM_OK, or NULL; bmem_last_error() then returns the reason, per thread. No function aborts.
 *
 * With BMEM_TRACE=FILE in the environment each device's requests are written to FILE (FILE.2, ... if it
 * exists), for `terrace lab pim FILE`.
 *
 * Define BMEM_NO_SHORT_NAMES to omit the study's HORI and VERT. C++: terrace/bmem.hpp. */
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

/* Result of a function that can fail. */
typedef enum bmem_status {
  BMEM_OK = 0,
  BMEM_INVALID = 1,   /* an argument is out of range: zero, or more than an empty device holds */
  BMEM_NO_ROOM = 2,   /* no rectangle of this shape is free */
  BMEM_RELEASED = 3,  /* the block was already released */
  BMEM_FOREIGN = 4,   /* not a handle of this allocator */
  BMEM_NOT_READY = 5, /* no device: bmem_init was not called, or bmem_dtor was */
  BMEM_NO_MEMORY = 6  /* the process has no memory left for metadata */
} bmem_status;

/* Orientation of a vector: its elements lie along the rows, or along the columns. */
typedef enum bmem_dim { BMEM_HORI = 0, BMEM_VERT = 1 } BMEM_DIM;
#ifndef BMEM_NO_SHORT_NAMES
#define HORI BMEM_HORI
#define VERT BMEM_VERT
#endif

/* Policy by which a free rectangle is chosen. */
typedef enum bmem_fit {
  BMEM_FIRST = 0, /* the lowest row, then the lowest subarray, of the first bank with space */
  BMEM_BEST = 1   /* in the shortest free run (of subarrays; vertically of rows); searches all banks */
} bmem_fit;

/* Unit of a device. */
typedef enum bmem_within { BMEM_DEVICE = 0, BMEM_BANK = 1, BMEM_SUBARRAY = 2 } bmem_within;

/* Parameters of an allocation. Zero means "any", except for `rows` and `subarrays`. */
typedef struct bmem_request {
  uint32_t subarrays;
  uint32_t rows;
  BMEM_DIM dim; /* dimension that BMEM_BEST fits tightly */
  bmem_fit fit;
  bmem_within within;          /* the unit that the block must not leave */
  uint32_t row_alignment;      /* the first row is a multiple of it */
  uint32_t subarray_alignment; /* the first subarray, counted through its device, is a multiple of it */
  const void* beside;          /* a block with which it shares ... */
  bmem_within share;           /* ... the device, the bank, or the first subarray */
} bmem_request;

/* The location of a block: its first bit is column 0 of this row. */
typedef struct bmem_block {
  uint32_t device, bank, subarray, row;
  uint32_t subarrays, rows;
  uint64_t bytes;
} bmem_block;

/* Capacity of all devices. */
typedef struct bmem_usage {
  uint64_t rows; /* total, over all subarrays of all devices */
  uint64_t free_rows;
  uint64_t row_bytes;
} bmem_usage;

/* Creates one device with `columns` bits in a row, a multiple of 8, and `subarrays` in each bank. */
BMEM_PUBLIC bmem_status bmem_init(uint32_t rows, uint32_t columns, uint32_t subarrays, uint32_t banks);
/* Creates several such devices. A block lies on one of them. */
BMEM_PUBLIC bmem_status bmem_init_devices(uint32_t rows, uint32_t columns, uint32_t subarrays, uint32_t banks,
                                          uint32_t devices);
/* Destroys devices and blocks; later devices treat their handles as foreign. */
BMEM_PUBLIC bmem_status bmem_dtor(void);

/* Allocates `bytes`: horizontally in as few rows as possible, vertically in as few subarrays. */
BMEM_PUBLIC void* bmem_malloc(size_t bytes, BMEM_DIM dim);
/* Allocates `count` elements of `bits` bits each. Vertically, an element is in one column, `bits` rows deep;
 * horizontally, no element crosses from one subarray into the next. */
BMEM_PUBLIC void* bmem_malloc_elements(uint64_t count, uint32_t bits, BMEM_DIM dim);
/* Allocates a rectangle of `rows` rows in each of `subarrays` neighbouring subarrays. */
BMEM_PUBLIC void* bmem_malloc_raw(uint32_t subarrays, uint32_t rows);
/* Allocates by a request; `block` receives the handle, or NULL. */
BMEM_PUBLIC bmem_status bmem_malloc_request(const bmem_request* request, void** block);
/* Allocates all of `count` requests (1 to 8), or none: blocks of one bank, of one device, or (BMEM_SUBARRAY)
 * with the same first subarray, as the operands of one operation must have. `blocks` receives the handles.
 * They are placed by first fit, next to one another: `fit` and `beside` must be zero. */
BMEM_PUBLIC bmem_status bmem_malloc_group(const bmem_request* requests, size_t count, bmem_within share,
                                          void** blocks);
/* Set `rows` and `subarrays` of a request to those that bmem_malloc and bmem_malloc_elements would use. */
BMEM_PUBLIC bmem_status bmem_shape(size_t bytes, BMEM_DIM dim, bmem_request* request);
BMEM_PUBLIC bmem_status bmem_shape_elements(uint64_t count, uint32_t bits, BMEM_DIM dim, bmem_request* request);

/* Releases a block. NULL is ignored. */
BMEM_PUBLIC bmem_status bmem_free(void* block);

/* Return where a block lies, and how much of the devices is free. */
BMEM_PUBLIC bmem_status bmem_block_of(const void* block, bmem_block* where);
BMEM_PUBLIC bmem_status bmem_usage_of(bmem_usage* usage);

/* Returns the reason of this thread's last failure, in one line; "" if there was none. Valid until the next. */
BMEM_PUBLIC const char* bmem_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
