/* A program for memkind's hbwmalloc.h that uses an installed Terrace. Exits 1 if a block is not what it should be.
 */
#include <hbwmalloc.h>
#include <string.h>

int main(void) {
  const int has = hbw_check_available() == 0;
  int broken = 0;
  for (size_t size = 10; size < 10000000; size *= 10) {
    char* const block = hbw_calloc(size, 1);
    if (!block) return 1;
    broken |= block[0] != 0 || block[size - 1] != 0 || hbw_malloc_usable_size(block) < size;
    memset(block, 1, size);
    broken |= (hbw_verify_memory_region(block, size, 0) == 0) != has;
    hbw_free(block);
  }
  return broken;
}
