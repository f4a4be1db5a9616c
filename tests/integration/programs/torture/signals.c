/* Signals: handlers with information and on a stack of their own, faults that are survived, timers, masks. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "torture.h"

static volatile sig_atomic_t handled, handled_value, on_own_stack, ticks;
static volatile int touched[64];
static char* own_stack;
static size_t own_stack_size;
static sigjmp_buf recovery;
static void* volatile fault_address;

static void handle(int number, siginfo_t* info, void* context) {
  (void)context;
  char here;
  char* const position = &here;
  on_own_stack = position >= own_stack && position < own_stack + own_stack_size;
  for (int i = 0; i < 64; ++i) touched[i] += number;
  handled_value = info->si_value.sival_int;
  ++handled;
  errno = ENOTTY;
}

static void handle_and_keep_errno(int number, siginfo_t* info, void* context) {
  const int kept = errno;
  handle(number, info, context);
  errno = kept;
}

static void recover(int number, siginfo_t* info, void* context) {
  (void)context;
  fault_address = info->si_addr;
  siglongjmp(recovery, number);
}

static void tick(int number) {
  (void)number;
  ++ticks;
}

static void install(int number, void (*handler)(int, siginfo_t*, void*), int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
}

static void test_own_stack(void) {
  own_stack_size = 64 * 1024;
  own_stack = malloc(own_stack_size);
  const stack_t stack = {.ss_sp = own_stack, .ss_size = own_stack_size};
  sigaltstack(&stack, NULL);
  install(SIGUSR1, handle_and_keep_errno, SA_ONSTACK);
  errno = EDOM;
  sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 17});
  const int errno_after = errno;
  check(handled == 1 && handled_value == 17, "a queued signal arrives with its value");
  check(on_own_stack, "a handler runs on its own stack");
  check(errno_after == EDOM && touched[63] == SIGUSR1, "a handler's work is seen, errno is kept");
}

static void test_fault(void) {
  const long page = sysconf(_SC_PAGESIZE);
  volatile char* const forbidden = mmap(NULL, (size_t)page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  install(SIGSEGV, recover, SA_ONSTACK);
  const int number = sigsetjmp(recovery, 1);
  if (number == 0) {
    forbidden[5] = 1;
    check(0, "a write to a forbidden page faults");
  } else {
    check(number == SIGSEGV && fault_address == (void*)(forbidden + 5), "a fault is caught at its address");
  }
  signal(SIGSEGV, SIG_DFL);
  mprotect((void*)forbidden, (size_t)page, PROT_READ | PROT_WRITE);
  forbidden[5] = 3;
  check(forbidden[5] == 3, "the page can be written once it is allowed");
  munmap((void*)forbidden, (size_t)page);
}

static void test_timer(void) {
  signal(SIGALRM, tick);
  const struct itimerval every = {.it_interval = {0, 2000}, .it_value = {0, 2000}};
  setitimer(ITIMER_REAL, &every, NULL);
  /* Work that is interrupted must come out right. */
  volatile unsigned long sum = 0;
  unsigned long turns = 0;
  while (ticks < 5) {
    for (unsigned long i = 0; i < 1000; ++i) sum += i;
    ++turns;
  }
  const struct itimerval off = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &off, NULL);
  signal(SIGALRM, SIG_DFL);
  check(sum == turns * 499500, "a timer interrupts work and harms none");
}

static void* wait_for_signal(void* set) {
  int number = 0;
  sigwait(set, &number);
  return (void*)(long)number;
}

static void test_masks(void) {
  sigset_t set, before, pending;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  raise(SIGUSR1);
  sigpending(&pending);
  const int was_pending = sigismember(&pending, SIGUSR1) && handled == 1;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  check(was_pending && handled == 2, "a blocked signal waits until it is let in");

  pthread_sigmask(SIG_BLOCK, &set, NULL);
  pthread_t thread;
  pthread_create(&thread, NULL, wait_for_signal, &set);
  pthread_kill(thread, SIGUSR1);
  void* result = NULL;
  pthread_join(thread, &result);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  check((long)result == SIGUSR1 && handled == 2, "sigwait takes a signal sent to its thread");
}

void test_signals(void) {
  test_own_stack();
  test_fault();
  test_timer();
  test_masks();
  signal(SIGUSR1, SIG_DFL);
  const stack_t none = {.ss_flags = SS_DISABLE};
  sigaltstack(&none, NULL);
  free(own_stack);
}
