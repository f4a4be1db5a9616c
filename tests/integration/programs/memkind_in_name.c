/* A stub library to link a program with instead of memkind: its functions are never run. */
#include <stdlib.h>

#define FUNCTION(name) \
  void name(void);     \
  void name(void) { abort(); }
FUNCTION(hbw_calloc)
FUNCTION(hbw_check_available)
FUNCTION(hbw_free)
FUNCTION(hbw_get_policy)
FUNCTION(hbw_malloc)
FUNCTION(hbw_malloc_usable_size)
FUNCTION(hbw_posix_memalign)
FUNCTION(hbw_posix_memalign_psize)
FUNCTION(hbw_realloc)
FUNCTION(hbw_set_policy)
FUNCTION(hbw_verify_memory_region)
