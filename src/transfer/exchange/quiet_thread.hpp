// Threads of Terrace's in a program: signals are the program's.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace terrace::transfer {

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

}  // namespace terrace::transfer
