/* Allocates three vectors of a device that computes in memory: operands of one operation share their subarrays. */
#include <stdio.h>
#include <terrace/bmem.h>

int main(void) {
  if (bmem_init(1024, 65536, 16, 8) != BMEM_OK) { /* rows, columns, subarrays, banks: 1 GiB */
    fprintf(stderr, "pim: %s\n", bmem_last_error());
    return 1;
  }
  bmem_request request;
  bmem_shape_elements(65536, 32, BMEM_VERT, &request); /* 65,536 numbers of 32 bits, each down a column */
  const bmem_request requests[3] = {request, request, request};
  void* blocks[3];
  if (bmem_malloc_group(requests, 3, BMEM_SUBARRAY, blocks) != BMEM_OK) {
    fprintf(stderr, "pim: %s\n", bmem_last_error());
    return 1;
  }
  for (int i = 0; i < 3; ++i) {
    bmem_block where;
    bmem_block_of(blocks[i], &where);
    printf("vector %d: bank %u, subarray %u, row %u, %u rows\n", i, where.bank, where.subarray, where.row,
           where.rows);
    bmem_free(blocks[i]);
  }
  return bmem_dtor() == BMEM_OK ? 0 : 1;
}
