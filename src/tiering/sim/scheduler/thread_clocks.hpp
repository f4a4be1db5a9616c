// SPDX-License-Identifier: Apache-2.0
// Declares the interface to the clocks of a program's threads in virtual time: each thread has its own clock, and
// a thread that waits for another takes the later time. The scheduler (sim/scheduler/scheduler.hpp) decides the
// order of execution; the agent and `terrace replay` report its events, in that order, to every configuration and
// to the recording.
//
// Threads are identified by their number, 0 for the main thread. Requires: everything that a thread did before is
// on its clock when an event names it; its quantum is ended first.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace terrace::sim {

class ThreadClocks {
 public:
  virtual ~ThreadClocks() = default;
  // Sets the running thread: Clock::now() is its clock, and waits and charges are on its account.
  virtual void set_running(std::uint32_t thread) = 0;
  // Sets the number of threads that have begun and not ended.
  virtual void set_num_alive(std::uint32_t threads) = 0;
  // Advances the clock of `thread`, which continues or begins, to that of `other`, if that is later.
  virtual void advance_to(std::uint32_t thread, std::uint32_t other) = 0;
  // Advances all clocks to the latest of them: the threads have met at a barrier.
  virtual void synchronize(std::span<const std::uint32_t> threads) = 0;
  // Reports that the running thread unlocks a lock, identified by any number; threads that lock it later continue
  // no earlier than that.
  virtual void on_unlock(std::uint64_t lock) = 0;
  virtual void on_lock(std::uint64_t lock) = 0;
};

// Forwards synchronisation between threads to every configuration of a run. Locks `mutex` for each event.
class BroadcastThreadClocks final : public ThreadClocks {
 public:
  explicit BroadcastThreadClocks(std::mutex& mutex) : mutex_(mutex) {}
  void add(ThreadClocks& configuration) { configurations_.push_back(&configuration); }
  void set_running(std::uint32_t thread) override { notify(&ThreadClocks::set_running, thread); }
  void set_num_alive(std::uint32_t threads) override { notify(&ThreadClocks::set_num_alive, threads); }
  void advance_to(std::uint32_t thread, std::uint32_t other) override {
    notify(&ThreadClocks::advance_to, thread, other);
  }
  void synchronize(std::span<const std::uint32_t> threads) override {
    notify(&ThreadClocks::synchronize, threads);
  }
  void on_unlock(std::uint64_t lock) override { notify(&ThreadClocks::on_unlock, lock); }
  void on_lock(std::uint64_t lock) override { notify(&ThreadClocks::on_lock, lock); }

 private:
  template <class... Arguments>
  void notify(void (ThreadClocks::*event)(Arguments...), Arguments... arguments) {
    const std::lock_guard lock(mutex_);
    for (auto* const configuration : configurations_) (configuration->*event)(arguments...);
  }
  std::mutex& mutex_;
  std::vector<ThreadClocks*> configurations_;
};

}  // namespace terrace::sim
