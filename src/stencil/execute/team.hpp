// SPDX-License-Identifier: Apache-2.0
// Implements a team of threads with barriers, on which executors run loops and tiles. Waiting threads spin before
// they sleep, because a chain (the loops queued until a result is needed) has hundreds of loops, some of a
// microsecond.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace terrace::stencil {

class Team {
 public:
  // Creates `threads` threads, the caller included. Throws Error{failed} if the system refuses.
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] std::size_t size() const { return others_.size() + 1; }
  // Runs work(number) on all threads; returns when all are done. Throws the first exception of any thread;
  // failed() tells the others.
  void run(const std::function<void(std::size_t)>& work);
  // Within run(): waits until all threads have called it, or one has failed.
  void barrier();
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_relaxed); }
  // Waits until `number` >= `count`, or a thread has failed.
  void wait_for(const std::atomic<std::size_t>& number, std::size_t count) const;

 private:
  void do_work(std::size_t number);
  void end_others();

  const std::function<void(std::size_t)>* work_ = nullptr;
  alignas(64) std::atomic<std::size_t> begun_{0};    // number of runs
  alignas(64) std::atomic<std::size_t> ended_{0};    // threads finished, over all runs
  alignas(64) std::atomic<std::size_t> arrived_{0};  // threads arrived, over all barriers
  std::atomic<bool> failed_{false};
  std::atomic<bool> is_over_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
  std::vector<std::thread> others_;
};

}  // namespace terrace::stencil
