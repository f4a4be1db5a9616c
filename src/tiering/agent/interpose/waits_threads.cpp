// SPDX-License-Identifier: Apache-2.0
// Interposes pthread_join, sched_yield, pthread_once and cancellation in virtual time. Unscheduled threads use
// the C library's functions.
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "agent/interpose/scheduling.hpp"
#include "agent/interpose/threads.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/linking/next.hpp"
#include "observe/pipeline/loop_events.hpp"

namespace agent = terrace::agent;

namespace {

// Waits for the end of a scheduled thread and frees its number. Returns false for other threads.
bool wait_for_end(pthread_t thread) {
  std::uint32_t number = 0;
  if (!agent::in_virtual_time() || !agent::find_thread_number(thread, number)) return false;
  while (agent::is_scheduled() && !agent::has_ended(number)) agent::wait_for(agent::exit_key(number));
  agent::sync_clock(agent::this_thread(), number);
  agent::unregister_thread(number);
  agent::forget_joined_thread(thread);
  return true;
}

}  // namespace

extern "C" {

TERRACE_EXPORT int pthread_join(pthread_t thread, void** result) {
  static constinit agent::NextFunction<int (*)(pthread_t, void**)> next{"pthread_join"};
  const terrace::observe::ScopedLoopWait waits;
  wait_for_end(thread);
  return (*next)(thread, result);
}

TERRACE_EXPORT int pthread_cancel(pthread_t thread) {
  static constinit agent::NextFunction<int (*)(pthread_t)> next{"pthread_cancel"};
  const int error = (*next)(thread);
  std::uint32_t number = 0;
  if (agent::is_scheduled() && agent::find_thread_number(thread, number)) agent::interrupt(number);
  return error;
}

// Interposed because programs poll for cancellation in loops without other calls.
TERRACE_EXPORT void pthread_testcancel() {
  static constinit agent::NextFunction<void (*)()> next{"pthread_testcancel"};
  if (agent::is_scheduled()) agent::backoff();
  (*next)();
}

TERRACE_EXPORT int sched_yield() noexcept {
  static constinit agent::NextFunction<int (*)()> next{"sched_yield"};
  if (!agent::is_scheduled()) return (*next)();
  agent::backoff();
  return 0;
}

// The initialising thread may be preempted by the scheduler, so that others must not wait for it in the C library.
TERRACE_EXPORT int pthread_once(pthread_once_t* control, void (*function)()) {
  static constinit agent::NextFunction<int (*)(pthread_once_t*, void (*)())> next{"pthread_once"};
  constexpr pthread_once_t k_under_way = 1;  // glibc's; 2 when it is done
  const auto key = reinterpret_cast<std::uint64_t>(control);
  while (agent::is_scheduled() && (__atomic_load_n(control, __ATOMIC_ACQUIRE) & 3) == k_under_way)
    agent::wait_for(key);
  const int error = (*next)(control, function);
  if (agent::is_scheduled()) agent::wake(key, agent::k_all_waiters);
  return error;
}

}  // extern "C"
