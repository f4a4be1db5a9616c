// SPDX-License-Identifier: Apache-2.0
// Tracks the program's threads, for the interposed functions that create, join and schedule them
// (waits_threads.cpp, waits_openmp.cpp).
#pragma once

#include <pthread.h>

#include <cstdint>

namespace terrace::agent {

// Registers the calling thread's stack and starts the tracing of its accesses. Has no effect the second time.
void attach_this_thread() noexcept;

// During its lifetime, threads that the calling thread creates are workers of another library's pool (OpenMP).
// They get numbers, but are scheduled only while they run the program's code.
class ScopedWorkerCreation {
 public:
  ScopedWorkerCreation() noexcept;
  ~ScopedWorkerCreation();
  ScopedWorkerCreation(const ScopedWorkerCreation&) = delete;
  ScopedWorkerCreation& operator=(const ScopedWorkerCreation&) = delete;

 private:
  bool before_;
};
// During its lifetime the program's own code runs inside such a library, so that threads that it creates are
// scheduled.
class ScopedProgramCode {
 public:
  ScopedProgramCode() noexcept;
  ~ScopedProgramCode();
  ScopedProgramCode(const ScopedProgramCode&) = delete;
  ScopedProgramCode& operator=(const ScopedProgramCode&) = delete;

 private:
  bool before_;
};

// Finds the number of a scheduled thread. Returns false for other threads.
bool find_thread_number(pthread_t thread, std::uint32_t& number) noexcept;
// Removes a joined thread, whose handle the C library may reuse.
void forget_joined_thread(pthread_t thread) noexcept;

}  // namespace terrace::agent
