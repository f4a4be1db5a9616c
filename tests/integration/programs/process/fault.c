/* fault: a block is not readable when realloc moves it. The handler of the fault, inside the allocator, stores a
 * thousand numbers and makes the block readable. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { CELLS = 1000, SIZE = 1 << 20 };

static void* volatile block;
static int faults;
static int cells[CELLS];

static void on_fault(int signal) {
  (void)signal;
  ++faults;
  for (int i = 0; i < CELLS; ++i) cells[i] = i;
  mprotect(block, SIZE, PROT_READ | PROT_WRITE);
}

int main(void) {
  struct sigaction action = {.sa_handler = on_fault};
  sigaction(SIGSEGV, &action, NULL);
  void* got = NULL;
  if (posix_memalign(&got, 4096, SIZE) != 0) return 1;
  block = got;
  mprotect(block, SIZE, PROT_NONE);
  got = realloc(got, 2 * SIZE);
  long sum = 0;
  for (int i = 0; i < CELLS; ++i) sum += cells[i];
  printf("%d faults, %ld\n", faults, sum);
  free(got);
  return 0;
}
