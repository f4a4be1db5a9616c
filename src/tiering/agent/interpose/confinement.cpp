// The program gives up rights: what Terrace would do later may not be allowed any more, and a filter of system
// calls may kill for it. A process that has waited for something to place does not begin then. One that is about
// to filter its system calls is left alone from here on: what works beside it has ended before, and what was
// allocated so far is freed by the call that the C library would make.
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
  // Threads that take turns would wait for one another for ever.
  if (here && here->simulated && observe::g_is_multithreaded.load(std::memory_order_relaxed)) return;
  const bool is_over_file = spilled_heap() != nullptr;  // in a child of fork(2) that is memory like all other
  if (here && is_over_file && here->confined_over_file) here->confined_over_file();
  finish_process(how);
  const observe::Inside inside;
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
  // Without a filter it is the question whether there could be one.
  if (option == PR_SET_SECCOMP && (words[0] != SECCOMP_MODE_FILTER || words[1] != 0)) confine();
  return (*next)(option, words[0], words[1], words[2], words[3]);
}
