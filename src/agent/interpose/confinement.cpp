// The program gives up rights: what Terrace would do later may not be allowed any more, and a filter of system
// calls may kill for it. A process that has waited for something to place does not begin then.
#include <sys/prctl.h>

#include <cstdarg>

#include "agent/interpose/next.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/lifecycle/process.hpp"

extern "C" TERRACE_EXPORT int prctl(int option, ...) {
  using namespace terrace::agent;
  static constinit Next<int (*)(int, unsigned long, unsigned long, unsigned long, unsigned long)> next{"prctl"};
  va_list more;
  va_start(more, option);
  unsigned long words[4];
  for (auto& word : words) word = va_arg(more, unsigned long);
  va_end(more);
  if ((option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP) && is_own_process())
    g_standing.waits.store(false);
  return (*next)(option, words[0], words[1], words[2], words[3]);
}
