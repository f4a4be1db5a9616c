// SPDX-License-Identifier: Apache-2.0
// Connects the interposed synchronisation functions with the scheduler of virtual time
// (sim/scheduler/scheduler.hpp), which runs one thread of the program at a time. Every emulated wait of locks,
// barriers, OpenMP, futexes and joins goes through these functions. On the real machine, and in programs with one
// thread, threads are not scheduled and is_scheduled() is false.
#pragma once

#include <cstdint>
#include <span>

#include "agent/lifecycle/process.hpp"

namespace terrace::agent {

// Returns whether the calling thread is scheduled with others, so that it must not wait in the C library. False
// inside Terrace.
[[nodiscard]] bool is_scheduled_now() noexcept;
[[nodiscard]] inline bool is_scheduled() noexcept {
  const auto* const here = process();
  return here && here->scheduler && is_scheduled_now();
}
// Returns whether the process runs in virtual time, where several threads would be scheduled. False inside
// Terrace.
[[nodiscard]] bool in_virtual_time() noexcept;

// Requires, for the functions below: the calling thread is scheduled. Those that depend on its time first flush
// its recorded accesses to the configurations.

// Waits until a thread wakes the key. Spurious wake-ups are possible. Advances the clock to the waker's if that
// is later.
void wait_for(std::uint64_t key) noexcept;
// Waits as above, at most until the program's clock shows `until` seconds. Returns false at a time-out.
bool wait_for(std::uint64_t key, double until) noexcept;
// Wakes up to `max_count` waiters, longest waiting first. Returns how many it woke.
std::uint32_t wake(std::uint64_t key, std::uint32_t max_count) noexcept;
inline constexpr std::uint32_t k_all_waiters = ~std::uint32_t{0};
// Wakes scheduled threads from a thread that the scheduler does not schedule: an OpenMP worker between two
// regions, or a thread of an MPI implementation. Returns how many it woke; does nothing when called by a scheduled
// thread.
std::uint32_t wake_from_unscheduled(std::uint64_t key, std::uint32_t max_count) noexcept;
// Moves up to `max_count` waiters from one key to another, as FUTEX_REQUEUE does. Returns how many it moved.
std::uint32_t requeue(std::uint64_t from, std::uint64_t to, std::uint32_t max_count) noexcept;
// Interrupts a thread's wait, whatever it waits for.
void interrupt(std::uint32_t thread) noexcept;

// Record the release and the acquisition of a lock. An acquiring thread's clock advances to that of the last
// release.
void on_unlock(std::uint64_t lock) noexcept;
void on_lock(std::uint64_t lock) noexcept;
// Sets the clocks of all threads at a barrier to the latest of them.
void sync_at_barrier(std::span<const std::uint32_t> threads) noexcept;
// Advances the clock of `thread` to that of `other` if that is later.
void sync_clock(std::uint32_t thread, std::uint32_t other) noexcept;

// Ends the calling thread's scheduling quantum. Called by the access pipeline; may be called by any thread.
void end_quantum() noexcept;
// Marks a point of contention: the thread with the least progress runs first.
void schedule_point() noexcept;
// Charges the time of a failed attempt (a busy lock, a yield), and lets other threads run.
void backoff() noexcept;

// Returns the calling thread's number.
[[nodiscard]] std::uint32_t this_thread() noexcept;
// Registers a new thread, whose clock starts at the caller's.
void register_thread(std::uint32_t thread) noexcept;
// Called by the new thread: waits until the scheduler runs it.
void enter_schedule(std::uint32_t thread) noexcept;
// Undoes register_thread() if the thread could not be created.
void cancel_thread_start(std::uint32_t thread) noexcept;
// Removes the calling thread from the schedule, and wakes the threads that join it.
void leave_schedule() noexcept;
// Returns whether a scheduled thread has ended.
[[nodiscard]] bool has_ended(std::uint32_t thread) noexcept;
// Frees the number of an ended thread.
void unregister_thread(std::uint32_t thread) noexcept;
// Returns the key that is woken when the thread ends.
[[nodiscard]] std::uint64_t exit_key(std::uint32_t thread) noexcept;

// Takes the calling thread out of the schedule while it blocks in another library. Other threads run meanwhile,
// and the run is no longer repeatable.
class ScopedBlockingCall {
 public:
  ScopedBlockingCall() noexcept;
  ~ScopedBlockingCall();
  ScopedBlockingCall(const ScopedBlockingCall&) = delete;
  ScopedBlockingCall& operator=(const ScopedBlockingCall&) = delete;

 private:
  bool was_scheduled_;
};

}  // namespace terrace::agent
