// SPDX-License-Identifier: Apache-2.0
// Starts Terrace's own threads inside a program (mover, pager, helper), and isolates their descriptors from those
// of the program.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace terrace {

// Prefix of the names of all internal threads. No thread of a program has it by default, because a thread is named
// after the executable file, and no file name contains a slash.
inline constexpr const char* k_thread_name_prefix = "terrace/";

// Starts a thread with all signals blocked, so that the program's threads handle them. Returns false if the system
// refuses.
inline bool start_signal_masked_thread(pthread_t& thread, const char* name, void* (*body)(void*),
                                       void* self) noexcept {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int problem = pthread_create(&thread, nullptr, body, self);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (problem == 0) pthread_setname_np(thread, name);
  return problem == 0;
}

// Gives the calling thread a descriptor table of its own that holds only these two descriptors (Linux 5.9; does
// nothing on older kernels). The program may close descriptors that it does not know (closefrom(3)) and reuse
// their numbers. None of the program's descriptors stays open in the new table: other processes may wait for their
// end of file.
inline void unshare_fd_table(int one, int other) noexcept {
  const bool can_close = syscall(SYS_close_range, ~0U, ~0U, 0U) == 0;  // Linux 5.9
  if (!can_close || syscall(SYS_unshare, CLONE_FILES) != 0) return;
  const auto low = static_cast<unsigned>(std::min(one, other));
  const auto high = static_cast<unsigned>(std::max(one, other));
  if (low > 0) syscall(SYS_close_range, 0U, low - 1, 0U);
  if (high > low + 1) syscall(SYS_close_range, low + 1, high - 1, 0U);
  syscall(SYS_close_range, high + 1, ~0U, 0U);
}

}  // namespace terrace
