// The program's threads, for the doors that start, join and schedule them.
#pragma once

#include <pthread.h>

#include <cstdint>

namespace terrace::agent {

// The calling thread is the program's: its stack is registered, its accesses are followed. Does nothing the second
// time.
void follow_this_thread() noexcept;

// While it lives, threads that the calling thread creates are workers of another library's pool (OpenMP): they are
// given numbers, but take turns only for the work that they are handed.
class MakingWorkers {
 public:
  MakingWorkers() noexcept;
  ~MakingWorkers();
  MakingWorkers(const MakingWorkers&) = delete;
  MakingWorkers& operator=(const MakingWorkers&) = delete;

 private:
  bool before_;
};
// The program's own code runs again, inside such a library's.
class OwnWork {
 public:
  OwnWork() noexcept;
  ~OwnWork();
  OwnWork(const OwnWork&) = delete;
  OwnWork& operator=(const OwnWork&) = delete;

 private:
  bool before_;
};

// The number of a thread that takes turns.
bool find_thread(pthread_t thread, std::uint32_t& number) noexcept;
void forget_joined(pthread_t thread) noexcept;

}  // namespace terrace::agent
