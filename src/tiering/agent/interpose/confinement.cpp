// SPDX-License-Identifier: Apache-2.0
// Interposes prctl(2) for system call filters (seccomp) and no_new_privs, and implements confine(), which
// limits.cpp and waits_futex.cpp call, too. Later system calls of Terrace might be forbidden, and a filter may
// kill the process for one. A deferred start is cancelled. A process that is about to set a filter is left alone
// from here on: background threads are ended first, and blocks allocated so far are released by munmap(2), the
// call that the C library would make.
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "agent/heap/ordered_heap.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/lifecycle/last_thread.hpp"
#include "agent/lifecycle/process.hpp"
#include "agent/linking/next.hpp"
#include "memory/region_space.hpp"
#include "observe/pipeline/shadow_stack.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

void confine(const char* how) noexcept {
  if (!is_own_process() || observe::t_thread.inside > 0) return;
  g_pointers.is_start_deferred.store(false);
  auto* const here = process();
  // Scheduled threads would deadlock without the scheduler.
  if (here && here->simulated && observe::g_is_multithreaded.load(std::memory_order_relaxed)) return;
  const bool is_over_file = spilled_heap() != nullptr;  // in a child of fork(2) such memory is ordinary
  if (here && is_over_file && here->confined_over_file) here->confined_over_file();
  finish_process(how);
  const observe::RuntimeScope inside;
  if (!is_over_file) end_own_thread_watch();
  if (auto* const ordered = ordered_heap()) ordered->shut_down();
  if (auto* const space = regions()) space->retire();
}

}  // namespace terrace::agent

extern "C" TERRACE_EXPORT int prctl(int option, ...) {
  using namespace terrace::agent;
  static constinit NextFunction<int (*)(int, unsigned long, unsigned long, unsigned long, unsigned long)> next{
      "prctl"};
  va_list more;
  va_start(more, option);
  unsigned long words[4];
  for (auto& word : words) word = va_arg(more, unsigned long);
  va_end(more);
  if (option == PR_SET_NO_NEW_PRIVS && g_pointers.is_start_deferred.load() && is_own_process())
    g_pointers.is_start_deferred.store(false);
  // A null filter only tests for support.
  if (option == PR_SET_SECCOMP && (words[0] != SECCOMP_MODE_FILTER || words[1] != 0)) confine();
  return (*next)(option, words[0], words[1], words[2], words[3]);
}
