// Threads of Terrace's in a program: signals are the program's, and files are their own.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace terrace {

// How the names of all of them begin: no program's threads are called so at first, as no file's name has a slash.
inline constexpr const char* k_thread_names = "terrace/";

// Begins with every signal blocked. False where the system gives no thread.
inline bool start_quietly(pthread_t& thread, const char* name, void* (*body)(void*), void* self) noexcept {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int problem = pthread_create(&thread, nullptr, body, self);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (problem == 0) pthread_setname_np(thread, name);
  return problem == 0;
}

// A program may close files that it does not know (closefrom(3)), and open others with the same numbers. So the
// calling thread has a table of files of its own from now on: these two, and none of the program's, whose ends
// others wait for.
inline void keep_files(int one, int other) noexcept {
  const bool can_close = syscall(SYS_close_range, ~0U, ~0U, 0U) == 0;  // Linux 5.9
  if (!can_close || syscall(SYS_unshare, CLONE_FILES) != 0) return;
  const auto low = static_cast<unsigned>(std::min(one, other));
  const auto high = static_cast<unsigned>(std::max(one, other));
  if (low > 0) syscall(SYS_close_range, 0U, low - 1, 0U);
  if (high > low + 1) syscall(SYS_close_range, low + 1, high - 1, 0U);
  syscall(SYS_close_range, high + 1, ~0U, 0U);
}

}  // namespace terrace
