/* longjmp over many frames, many times, also from signal handlers: frames that are never left by returning. */
#include <setjmp.h>
#include <signal.h>

#include "torture.h"

enum { DEPTH = 100, JUMPS = 2000 };

static jmp_buf target;
static sigjmp_buf signal_target;

static __attribute__((noinline)) int descend(volatile int* depth) {
  if (++*depth == DEPTH) longjmp(target, DEPTH);
  return *depth < DEPTH ? descend(depth) + 1 : 0; /* not a tail call: every level keeps its frame */
}

static void jump_out(int number) { siglongjmp(signal_target, number); }

void test_jumps(void) {
  volatile int jumps = 0;
  volatile int good = 1;
  while (jumps < JUMPS) {
    volatile int depth = 0;
    const int arrived = setjmp(target);
    if (arrived == 0) {
      descend(&depth);
      good = 0; /* never reached */
    } else {
      good &= arrived == DEPTH && depth == DEPTH;
    }
    ++jumps;
  }
  check(good, "longjmp over 100 frames, 2000 times");

  signal(SIGUSR2, jump_out);
  volatile int signals = 0;
  while (signals < JUMPS) {
    if (sigsetjmp(signal_target, 1) == 0) raise(SIGUSR2);
    ++signals;
  }
  signal(SIGUSR2, SIG_DFL);
  check(signals == JUMPS, "siglongjmp out of a handler, 2000 times");
}
