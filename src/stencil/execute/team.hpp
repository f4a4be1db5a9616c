// SPDX-License-Identifier: Apache-2.0
// Threads that work together. Who waits spins before it sleeps: a chain has hundreds of loops, some of them a
// microsecond long.
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
  // So many threads, the caller's among them. Throws Error{failed} where the system does not give them.
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] std::size_t size() const { return others_.size() + 1; }
  // All threads call it with their number; returns when all are done. Throws what one of them threw; the others
  // find failed() then.
  void run(const std::function<void(std::size_t)>& work);
  // Within run(): returns when all threads have called it, or one has failed.
  void barrier();
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_relaxed); }
  // Returns once the number is at least `count`, or a thread has failed.
  void wait_for(const std::atomic<std::size_t>& number, std::size_t count) const;

 private:
  void do_work(std::size_t number);
  void end_others();

  const std::function<void(std::size_t)>* work_ = nullptr;
  alignas(64) std::atomic<std::size_t> begun_{0};    // runs
  alignas(64) std::atomic<std::size_t> ended_{0};    // threads, of all runs
  alignas(64) std::atomic<std::size_t> arrived_{0};  // threads, of all barriers
  std::atomic<bool> failed_{false};
  std::atomic<bool> is_over_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
  std::vector<std::thread> others_;
};

}  // namespace terrace::stencil
