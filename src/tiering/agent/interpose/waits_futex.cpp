// SPDX-License-Identifier: Apache-2.0
// Interposes syscall(2) for futexes in virtual time: C++20 atomic waits, guards of static variables, and locks of
// programs and libraries other than the C library. Also detects seccomp(2), which has no wrapper function.
#include <errno.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/interpose/clock_time.hpp"
#include "agent/interpose/scheduling.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/linking/next.hpp"
#include "core/errno_scope.hpp"
#include "observe/threads/thread.hpp"

namespace agent = terrace::agent;

namespace {

constexpr int k_commands = ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);

// Emulates futex(2) for scheduled threads. Returns false if the kernel must execute the call.
bool emulate_futex(const long (&words)[6], long& result) {
  auto* const word = reinterpret_cast<const std::uint32_t*>(words[0]);
  const int operation = static_cast<int>(words[1]) & k_commands;
  const auto key = static_cast<std::uint64_t>(words[0]);
  switch (operation) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET: {
      const auto* const timeout = reinterpret_cast<const timespec*>(words[3]);
      if (timeout && !agent::is_valid(timeout)) return false;
      if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != static_cast<std::uint32_t>(words[2])) {
        result = terrace::return_by_errno(EAGAIN);
        return true;
      }
      result = 0;
      if (!timeout) {
        agent::wait_for(key);
        return true;
      }
      const bool realtime = (words[1] & FUTEX_CLOCK_REALTIME) != 0;
      const auto until = operation == FUTEX_WAIT
                             ? agent::program_now() + static_cast<double>(timeout->tv_sec) +
                                   static_cast<double>(timeout->tv_nsec) * 1e-9
                             : agent::program_seconds(realtime ? CLOCK_REALTIME : CLOCK_MONOTONIC, *timeout);
      if (!agent::wait_for(key, until)) result = terrace::return_by_errno(ETIMEDOUT);
      return true;
    }
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
      result = static_cast<long>(agent::wake(key, static_cast<std::uint32_t>(words[2])));
      return result > 0;  // else a thread may wait in the kernel
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
      if (operation == FUTEX_CMP_REQUEUE &&
          __atomic_load_n(word, __ATOMIC_SEQ_CST) != static_cast<std::uint32_t>(words[5])) {
        result = terrace::return_by_errno(EAGAIN);
        return true;
      }
      result = static_cast<long>(agent::wake(key, static_cast<std::uint32_t>(words[2])));
      result += agent::requeue(key, static_cast<std::uint64_t>(words[4]), static_cast<std::uint32_t>(words[3]));
      return true;
    default:
      return false;
  }
}

}  // namespace

extern "C" TERRACE_EXPORT long syscall(long number, ...) noexcept {
  static constinit agent::NextFunction<long (*)(long, long, long, long, long, long, long)> next{"syscall"};
  long words[6];
  va_list list;
  va_start(list, number);
  for (auto& word : words) word = va_arg(list, long);
  va_end(list);
  long result = 0;
  if (number == SYS_seccomp &&
      (words[0] == SECCOMP_SET_MODE_STRICT || (words[0] == SECCOMP_SET_MODE_FILTER && words[2] != 0)))
    agent::confine();
  if (number == SYS_futex && agent::is_scheduled() && emulate_futex(words, result)) return result;
  return (*next)(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
