// SPDX-License-Identifier: Apache-2.0
// Implements a deterministic user-level scheduler of a program's threads in virtual time. The agent calls it in
// interposed thread functions and at the end of each quantum (a batch of one thread's accesses). Of the threads
// that can run, the one with the lowest (progress, number) runs until its quantum ends or it blocks. So a program
// with threads behaves the same in every run: dynamic schedules, critical sections and races repeat.
//
// Progress counts what does not depend on where data resides (accesses, misses, virtual sleep), in nominal
// nanoseconds. It is not any configuration's clock: the same order of execution then holds for every placement,
// machine and planner. That lets one execution price many configurations, and a recording stand for an execution.
//
// A thread waits for a key, an arbitrary number that identifies the event. wake() makes threads ready in the order
// in which they began to wait. So nothing depends on the order in which the kernel resumes threads; a quantum may
// even be dispatched to a thread that the kernel has not started yet.
//
// A thread may block in a way that is not intercepted, so waiting threads run a watchdog. It revokes the quantum
// of a thread that the kernel reports asleep for a while, or that makes no visible progress for seconds (it
// spins). From then on is_repeatable() is false. The thread queues again when it returns.
//
// The state is plain data in shared memory, ready for threads of several processes. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <span>

namespace terrace::sim {

inline constexpr std::uint32_t k_max_threads = 1024;  // alive at a time

enum class ThreadState : std::uint32_t {
  none,      // the slot is free
  ready,     // can run
  running,   // has the quantum
  waiting,   // for a key, or for its deadline
  detached,  // runs or blocks outside of the scheduler's control
  ended      // not joined yet
};

struct ThreadSlot {
  std::uint32_t thread;  // its number
  ThreadState state;
  std::uint64_t progress;
  std::uint64_t key;       // waiting: for what
  std::uint64_t deadline;  // waiting: progress at which it continues by itself
  std::uint64_t order;     // waiting: position in the order of waits
  std::uint32_t timed_out;
  std::uint32_t system_thread;            // kernel thread id; 0 until it has started
  std::atomic<std::uint32_t> dispatched;  // a futex: 1 when the thread was given a quantum
};

struct SchedulerPage {
  std::atomic<std::uint32_t> lock;
  std::atomic<std::uint32_t> stopped;
  std::atomic<std::uint32_t> unrepeatable;
  std::atomic<std::uint32_t> alive;  // begun and not ended
  std::uint32_t slots_used;          // slots from here on have never been used
  std::uint64_t num_waits;           // so far
  std::uint64_t num_quanta;          // so far
  ThreadSlot slots[k_max_threads];
};

class Scheduler {
 public:
  static constexpr std::uint64_t k_forever = std::numeric_limits<std::uint64_t>::max();

  // `page` must be zero-filled. The calling thread gets the number `thread` and the first quantum.
  Scheduler(SchedulerPage& page, std::uint32_t thread);

  // Returns whether there is no other thread to schedule.
  [[nodiscard]] bool is_alone() const { return page_.alive.load(std::memory_order_relaxed) <= 1; }
  [[nodiscard]] std::uint32_t num_alive() const { return page_.alive.load(std::memory_order_relaxed); }
  [[nodiscard]] bool is_repeatable() const { return page_.unrepeatable.load(std::memory_order_relaxed) == 0; }

  // Registers a thread that is about to be created, with its creator's progress. Returns false if there is no free
  // slot: the thread then runs unscheduled, and the run is not repeatable.
  bool add_thread(std::uint32_t thread, std::uint32_t creator);
  // Makes the calling thread known as `thread`; returns when it is dispatched.
  void enter(std::uint32_t thread);
  // Ends a thread and dispatches another. The ended thread keeps its slot until remove_thread().
  void end_thread(std::uint32_t thread);
  [[nodiscard]] bool has_ended(std::uint32_t thread) const;
  void remove_thread(std::uint32_t thread);

  // Adds to the thread's progress; does not reschedule.
  void advance(std::uint32_t thread, std::uint64_t progress);
  [[nodiscard]] std::uint64_t progress(std::uint32_t thread) const;
  // Dispatches the thread with the least progress; returns when the calling thread is dispatched again. Returns
  // true if another thread ran meanwhile.
  bool yield(std::uint32_t thread);
  // Waits until the key is woken, or until the progress reaches `deadline`. Returns false on time-out.
  bool wait(std::uint32_t thread, std::uint64_t key, std::uint64_t deadline = k_forever);
  // Makes up to `most` threads ready that have waited longest for the key, with at least the waker's progress.
  // Stores their numbers in `woken` as far as it reaches. Returns how many there were.
  std::uint32_t wake(std::uint32_t waker, std::uint64_t key, std::uint32_t most,
                     std::span<std::uint32_t> woken = {});
  // Makes one waiting thread ready, whatever it waits for. Returns false if it does not wait.
  bool wake_thread(std::uint32_t waker, std::uint32_t thread);
  // Sets the progress of threads that have met at a barrier to their maximum.
  void synchronize(std::span<const std::uint32_t> threads);
  // Moves up to `most` threads that wait for `from` to the waiters of `to`. Returns how many were moved.
  std::uint32_t requeue(std::uint64_t from, std::uint64_t to, std::uint32_t most);
  // Notes that something happened whose order does not repeat.
  void mark_unrepeatable() { page_.unrepeatable.store(1, std::memory_order_relaxed); }
  // Suspends scheduling of the calling thread, which is about to block in code that is not intercepted (another
  // library), and dispatches another thread; reattach() waits for the next quantum.
  void detach(std::uint32_t thread);
  void reattach(std::uint32_t thread);
  // Ends scheduling, because the process ends: every thread runs as the kernel schedules it.
  void stop();
  [[nodiscard]] bool is_stopped() const { return page_.stopped.load(std::memory_order_relaxed) != 0; }

 private:
  class SpinGuard;
  [[nodiscard]] ThreadSlot* find(std::uint32_t thread) const;
  void dispatch();  // to the next thread, if any is ready and none runs. Requires: SpinGuard
  void wait_until_dispatched(ThreadSlot& slot);
  void watchdog_tick(bool stuck);

  SchedulerPage& page_;
};

}  // namespace terrace::sim
