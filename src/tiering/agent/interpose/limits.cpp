// SPDX-License-Identifier: Apache-2.0
// Interposes setrlimit(2) for RLIMIT_AS. Terrace's reserved address space counts against such a limit, but blocks
// from it do not. So when the program tightens the limit, the reserve is released, and later allocations are the
// C library's, as without Terrace. Exception: spilled memory, whose address space is in use. A limit that exists
// at the start leaves the program its share (core/address_space.hpp); raising one has no effect.
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/heap/spilled_heap.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/linking/next.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

namespace {

// Releases the reserve if the program is about to tighten the limit of its address space. If that call fails the
// reserve is lost, which does no harm.
template <class Limit>
void before_limit(pid_t process, int resource, const Limit* limit) noexcept {
  if (resource != RLIMIT_AS || !limit || (process != 0 && process != syscall(SYS_getpid))) return;
  struct rlimit now {};
  if (getrlimit(RLIMIT_AS, &now) != 0 || limit->rlim_cur >= now.rlim_cur) return;
  if (is_own_process() && observe::t_thread.inside == 0 && !spilled_heap()) confine("limited");
}

}  // namespace

}  // namespace terrace::agent

namespace agent = terrace::agent;

extern "C" {

TERRACE_EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit* limit) noexcept {
  static constinit agent::NextFunction<int (*)(int, const struct rlimit*)> next{"setrlimit"};
  agent::before_limit(0, resource, limit);
  return (*next)(resource, limit);
}

TERRACE_EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64* limit) noexcept {
  static constinit agent::NextFunction<int (*)(int, const struct rlimit64*)> next{"setrlimit64"};
  agent::before_limit(0, resource, limit);
  return (*next)(resource, limit);
}

TERRACE_EXPORT int prlimit(pid_t process, __rlimit_resource resource, const struct rlimit* limit,
                           struct rlimit* old) noexcept {
  static constinit agent::NextFunction<int (*)(pid_t, int, const struct rlimit*, struct rlimit*)> next{"prlimit"};
  agent::before_limit(process, resource, limit);
  return (*next)(process, resource, limit, old);
}

TERRACE_EXPORT int prlimit64(pid_t process, __rlimit_resource resource, const struct rlimit64* limit,
                             struct rlimit64* old) noexcept {
  static constinit agent::NextFunction<int (*)(pid_t, int, const struct rlimit64*, struct rlimit64*)> next{
      "prlimit64"};
  agent::before_limit(process, resource, limit);
  return (*next)(process, resource, limit, old);
}

}  // extern "C"
