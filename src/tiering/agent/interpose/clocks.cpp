// SPDX-License-Identifier: Apache-2.0
// Interposes the program's clocks. In simulation they show virtual time: wall clocks the start time plus virtual
// seconds, monotonic and CPU clocks the virtual seconds. On the real machine they are unmodified.
//
// A thread that only reads its clock advances virtual time, so that polling loops end. Sleeping advances virtual
// time by the requested duration and returns at once: an event that the program awaits has either happened, or is
// later than its clock says. The same holds for poll(2) and select(2) with a time-out but without descriptors.
// Limits: time stamp counters, and time-outs of calls that wait for descriptors, stay real.
#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "agent/interpose/clock_time.hpp"
#include "agent/interpose/scheduling.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/linking/next.hpp"
#include "core/clock.hpp"
#include "core/errno_scope.hpp"
#include "observe/threads/thread.hpp"
#include "runtime/runtime.hpp"

namespace terrace::agent {

namespace {

constexpr std::int64_t k_second = 1'000'000'000;

// Returns the process if the calling thread's clocks show virtual time, else null.
Process* simulation() {
  Process* const here = process();
  return here && here->simulated && observe::t_thread.inside == 0 ? here : nullptr;
}

// Rounds without libm, which programs need not have.
std::int64_t now_ns(Process& here) {
  return static_cast<std::int64_t>(here.runtime->now().value * 1e9 + 0.5);  // NOLINT(bugprone-incorrect-roundings)
}

// Lets polling loops end: code without hooks takes no virtual time, so after k_max_same equal readings in a row
// each further reading advances the clock by its own cost.
constexpr std::uint32_t k_max_same = 100;  // consecutive readings of the same time
constexpr Seconds k_reading_time{25e-9};   // of clock_gettime(2) by the vDSO
struct LastReading {
  std::int64_t ns = -1;
  std::uint32_t same = 0;
};
constinit thread_local LastReading t_last __attribute__((tls_model("initial-exec")));

// Returns virtual time for one reading of a clock by the program.
std::int64_t virtual_ns(Process& here) {
  auto& last = t_last;
  const auto now = now_ns(here);
  if (now != last.ns) last.same = 0;
  last.ns = now;
  if (++last.same <= k_max_same) return now;
  last.same = k_max_same;
  if (is_scheduled()) {
    backoff();
  } else if (here.clock) {
    const observe::RuntimeScope inside;
    here.clock->charge(k_reading_time);
  }
  return last.ns = now_ns(here);
}

bool is_wall_clock(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI ||
         clock == CLOCK_REALTIME_ALARM;
}

// Returns false for CPU clocks of other processes and threads, which stay real.
bool is_managed(clockid_t clock) { return clock >= 0; }

std::int64_t reading(Process& here, clockid_t clock) {
  return virtual_ns(here) + (is_wall_clock(clock) ? here.started_unix_ns : 0);
}

timespec to_timespec(std::int64_t ns) {
  return {static_cast<time_t>(ns / k_second), static_cast<long>(ns % k_second)};
}

timeval to_timeval(std::int64_t ns) {
  return {static_cast<time_t>(ns / k_second), static_cast<suseconds_t>(ns % k_second / 1000)};
}

// "For ever" is 285 years.
std::int64_t saturated_ns(const timespec& time) {
  return std::min<std::int64_t>(time.tv_sec, 9 * k_second) * k_second + time.tv_nsec;
}

// Sleeps for `ns` of virtual time. A cancellation point, and lets other threads run. Signals that arrive during
// the call are handled after the sleep.
void sleep_virtually(Process& here, std::int64_t ns) {
  static constinit NextFunction<int (*)(const timespec*, timespec*)> next{"nanosleep"};
  static constexpr timespec k_moment{0, 1};
  {
    const ErrnoScope errno_scope;
    (*next)(&k_moment, nullptr);
  }
  const observe::RuntimeScope inside;
  if (here.clock && ns > 0) here.clock->charge(Seconds{static_cast<double>(ns) * 1e-9});
  end_quantum();
}

}  // namespace

double program_now() noexcept {
  auto* const here = process();
  return here ? here->runtime->now().value : 0;
}

double program_seconds(clockid_t clock, const timespec& time) noexcept {
  const auto* const here = process();
  const auto origin = here && is_wall_clock(clock) ? here->started_unix_ns : 0;
  return static_cast<double>(saturated_ns(time) - origin) * 1e-9;
}

}  // namespace terrace::agent

namespace agent = terrace::agent;

extern "C" {

TERRACE_EXPORT int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static constinit agent::NextFunction<int (*)(clockid_t, timespec*)> next{"clock_gettime"};
  auto* const here = agent::simulation();
  if (!here || !agent::is_managed(clock)) return (*next)(clock, time);
  *time = agent::to_timespec(agent::reading(*here, clock));
  return 0;
}

TERRACE_EXPORT int timespec_get(timespec* time, int base) noexcept {
  static constinit agent::NextFunction<int (*)(timespec*, int)> next{"timespec_get"};
  auto* const here = agent::simulation();
  if (!here || base != TIME_UTC) return (*next)(time, base);
  *time = agent::to_timespec(agent::reading(*here, CLOCK_REALTIME));
  return base;
}

// Declared under another name: the header declares `time` nonnull, but programs pass null.
TERRACE_EXPORT int read_time_of_day(timeval* time, void* zone) noexcept __asm__("gettimeofday");
TERRACE_EXPORT int read_time_of_day(timeval* time, void* zone) noexcept {
  static constinit agent::NextFunction<int (*)(timeval*, void*)> next{"gettimeofday"};
  auto* const here = agent::simulation();
  if (!here || !time) return (*next)(time, zone);
  *time = agent::to_timeval(agent::reading(*here, CLOCK_REALTIME));
  return 0;
}

TERRACE_EXPORT time_t time(time_t* out) noexcept {
  static constinit agent::NextFunction<time_t (*)(time_t*)> next{"time"};
  auto* const here = agent::simulation();
  if (!here) return (*next)(out);
  const auto now = static_cast<time_t>(agent::reading(*here, CLOCK_REALTIME) / agent::k_second);
  if (out) *out = now;
  return now;
}

TERRACE_EXPORT clock_t clock() noexcept {
  static constinit agent::NextFunction<clock_t (*)()> next{"clock"};
  auto* const here = agent::simulation();
  if (!here) return (*next)();
  return static_cast<clock_t>(agent::virtual_ns(*here) / (agent::k_second / CLOCKS_PER_SEC));
}

TERRACE_EXPORT clock_t times(tms* buffer) noexcept {
  static constinit agent::NextFunction<clock_t (*)(tms*)> next{"times"};
  auto* const here = agent::simulation();
  if (!here) return (*next)(buffer);
  const auto ticks = static_cast<clock_t>(agent::virtual_ns(*here) / (agent::k_second / sysconf(_SC_CLK_TCK)));
  if (buffer) *buffer = {ticks, 0, 0, 0};
  return ticks;
}

TERRACE_EXPORT int getrusage(__rusage_who_t who, rusage* usage) noexcept {
  static constinit agent::NextFunction<int (*)(__rusage_who_t, rusage*)> next{"getrusage"};
  const int status = (*next)(who, usage);
  auto* const here = agent::simulation();
  if (!here || status != 0 || who == RUSAGE_CHILDREN) return status;
  usage->ru_utime = agent::to_timeval(agent::virtual_ns(*here));
  usage->ru_stime = {};
  return 0;
}

TERRACE_EXPORT int nanosleep(const timespec* wanted, timespec* left) {
  static constinit agent::NextFunction<int (*)(const timespec*, timespec*)> next{"nanosleep"};
  auto* const here = agent::simulation();
  if (!here || !agent::is_valid(wanted)) return (*next)(wanted, left);
  agent::sleep_virtually(*here, agent::saturated_ns(*wanted));
  return 0;
}

TERRACE_EXPORT int clock_nanosleep(clockid_t clock, int flags, const timespec* wanted, timespec* left) {
  static constinit agent::NextFunction<int (*)(clockid_t, int, const timespec*, timespec*)> next{
      "clock_nanosleep"};
  auto* const here = agent::simulation();
  // A thread's own CPU clock is invalid here (EINVAL).
  const bool known = agent::is_managed(clock) && clock != CLOCK_THREAD_CPUTIME_ID;
  if (!here || !known || !agent::is_valid(wanted)) return (*next)(clock, flags, wanted, left);
  auto duration = agent::saturated_ns(*wanted);
  if ((flags & TIMER_ABSTIME) != 0) duration = std::max<std::int64_t>(duration - agent::reading(*here, clock), 0);
  agent::sleep_virtually(*here, duration);
  return 0;
}

TERRACE_EXPORT int usleep(useconds_t wanted) {
  static constinit agent::NextFunction<int (*)(useconds_t)> next{"usleep"};
  auto* const here = agent::simulation();
  if (!here) return (*next)(wanted);
  agent::sleep_virtually(*here, std::int64_t{wanted} * 1000);
  return 0;
}

TERRACE_EXPORT unsigned sleep(unsigned wanted) {
  static constinit agent::NextFunction<unsigned (*)(unsigned)> next{"sleep"};
  auto* const here = agent::simulation();
  if (!here) return (*next)(wanted);
  agent::sleep_virtually(*here, std::int64_t{wanted} * agent::k_second);
  return 0;
}

TERRACE_EXPORT int poll(pollfd* descriptors, nfds_t count, int milliseconds) {
  static constinit agent::NextFunction<int (*)(pollfd*, nfds_t, int)> next{"poll"};
  auto* const here = agent::simulation();
  if (!here || count != 0 || milliseconds < 0) return (*next)(descriptors, count, milliseconds);
  agent::sleep_virtually(*here, std::int64_t{milliseconds} * 1'000'000);
  return 0;
}

// With a signal mask the kernel must wait: only it can set the mask and wait atomically.
TERRACE_EXPORT int ppoll(pollfd* descriptors, nfds_t count, const timespec* timeout, const sigset_t* signals) {
  static constinit agent::NextFunction<int (*)(pollfd*, nfds_t, const timespec*, const sigset_t*)> next{"ppoll"};
  auto* const here = agent::simulation();
  if (!here || count != 0 || signals || !agent::is_valid(timeout))
    return (*next)(descriptors, count, timeout, signals);
  agent::sleep_virtually(*here, agent::saturated_ns(*timeout));
  return 0;
}

TERRACE_EXPORT int select(int count, fd_set* in, fd_set* out, fd_set* other, timeval* timeout) {
  static constinit agent::NextFunction<int (*)(int, fd_set*, fd_set*, fd_set*, timeval*)> next{"select"};
  auto* const here = agent::simulation();
  const timespec wanted = timeout ? timespec{timeout->tv_sec, timeout->tv_usec * 1000} : timespec{-1, 0};
  if (!here || count != 0 || !agent::is_valid(&wanted)) return (*next)(count, in, out, other, timeout);
  agent::sleep_virtually(*here, agent::saturated_ns(wanted));
  *timeout = {};  // the remaining time
  return 0;
}

TERRACE_EXPORT int pselect(int count, fd_set* in, fd_set* out, fd_set* other, const timespec* timeout,
                           const sigset_t* signals) {
  static constinit agent::NextFunction<int (*)(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)>
      next{"pselect"};
  auto* const here = agent::simulation();
  if (!here || count != 0 || signals || !agent::is_valid(timeout))
    return (*next)(count, in, out, other, timeout, signals);
  agent::sleep_virtually(*here, agent::saturated_ns(*timeout));
  return 0;
}

}  // extern "C"
