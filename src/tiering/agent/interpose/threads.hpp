// The program's threads, for the doors that start, join and schedule them.
#pragma once

#include <pthread.h>

#include <cstdint>

namespace terrace::agent {

// The calling thread is the program's: its stack is registered, its accesses are followed. Does nothing the second
// time.
void attach_this_thread() noexcept;

// While it lives, threads that the calling thread creates are workers of another library's pool (OpenMP): they are
// given numbers, but take turns only for the work that they are handed.
class ScopedWorkerCreation {
 public:
  ScopedWorkerCreation() noexcept;
  ~ScopedWorkerCreation();
  ScopedWorkerCreation(const ScopedWorkerCreation&) = delete;
  ScopedWorkerCreation& operator=(const ScopedWorkerCreation&) = delete;

 private:
  bool before_;
};
// The program's own code runs again, inside such a library's.
class ScopedProgramCode {
 public:
  ScopedProgramCode() noexcept;
  ~ScopedProgramCode();
  ScopedProgramCode(const ScopedProgramCode&) = delete;
  ScopedProgramCode& operator=(const ScopedProgramCode&) = delete;

 private:
  bool before_;
};

// The number of a thread that takes turns.
bool find_thread_number(pthread_t thread, std::uint32_t& number) noexcept;
void forget_joined_thread(pthread_t thread) noexcept;

}  // namespace terrace::agent
