/* A third-party program: the study's example (MCHPC'17, section 4.3). Exits 1 if a promise of bmem.h is broken. */
#include <stdio.h>
#include <string.h>
#include <terrace/bmem.h>

static int broken = 0;

static void expect(int holds, const char* promise) {
  if (!holds) {
    printf("broken: %s (%s)\n", promise, bmem_last_error());
    broken = 1;
  }
}

int main(void) {
  void *ptr1, *ptr2, *ptr3;
  bmem_usage usage;

  expect(bmem_init(1024, 65536, 16, 8) == BMEM_OK, "a device of 1 GiB");
  ptr1 = bmem_malloc(4096, HORI);
  ptr2 = bmem_malloc(128, VERT);
  ptr3 = bmem_malloc_raw(2, 17);
  expect(ptr1 && ptr2 && ptr3, "there is room");
  expect(bmem_malloc(1, (BMEM_DIM)7) == NULL, "a dimension that there is not is refused");
  expect(strstr(bmem_last_error(), "BMEM_HORI or BMEM_VERT") != NULL, "a refusal has a reason");
  bmem_free(ptr1);
  bmem_free(ptr2);
  bmem_free(ptr3);
  expect(bmem_free(ptr3) == BMEM_RELEASED, "a second release is noticed");
  expect(bmem_usage_of(&usage) == BMEM_OK && usage.free_rows == usage.rows, "all is free again");
  expect(bmem_dtor() == BMEM_OK, "the device goes");
  return broken;
}
