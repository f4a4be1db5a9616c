// The program's threads in virtual time, as the doors see them: one at a time runs, in the order of turns
// (sim/scheduler/scheduler.hpp), and every wait that the doors know of goes through here. Where threads do not
// take turns (on the real machine, in programs with one thread) nothing here is in the way.
#pragma once

#include <cstdint>
#include <span>

#include "agent/lifecycle/process.hpp"

namespace terrace::agent {

// Whether this thread takes turns with others, so that it must not wait in the C library. False inside Terrace.
[[nodiscard]] bool is_scheduled_now() noexcept;
[[nodiscard]] inline bool is_scheduled() noexcept {
  const auto* const here = process();
  return here && here->scheduler && is_scheduled_now();
}
// Whether the process's threads would take turns if there were several.
[[nodiscard]] bool in_virtual_time() noexcept;

// The functions below are for threads that take turns. Each brings what the thread accessed so far to the
// configurations where its time matters.

// Waits until somebody wakes the key. May also come back for no reason: look again. The clock is then the
// waker's, where that is later.
void wait_for(std::uint64_t key) noexcept;
// The same, but until the program's own clock shows `until` seconds at the latest; false when that came first.
bool wait_for(std::uint64_t key, double until) noexcept;
// Wakes those who have waited longest; how many there were.
std::uint32_t wake(std::uint64_t key, std::uint32_t max_count) noexcept;
inline constexpr std::uint32_t k_all_waiters = ~std::uint32_t{0};
// Wakes scheduled threads from a thread that the scheduler does not schedule: an OpenMP worker between two
// regions, or a thread of an MPI implementation. Returns how many it woke; does nothing when called by a scheduled
// thread.
std::uint32_t wake_from_unscheduled(std::uint64_t key, std::uint32_t max_count) noexcept;
std::uint32_t requeue(std::uint64_t from, std::uint64_t to, std::uint32_t max_count) noexcept;
// Interrupts a thread's wait, whatever it waits for.
void interrupt(std::uint32_t thread) noexcept;

// A lock that threads hold one after another: who takes it goes on no earlier than who let it go.
void on_unlock(std::uint64_t lock) noexcept;
void on_lock(std::uint64_t lock) noexcept;
// All of them are here: they go on at the latest of their times.
void sync_at_barrier(std::span<const std::uint32_t> threads) noexcept;
void sync_clock(std::uint32_t thread, std::uint32_t other) noexcept;

// This thread's quantum is over. For Pipeline.
void end_quantum() noexcept;
// A place where threads compete: whoever is furthest behind goes first.
void schedule_point() noexcept;
// An attempt in vain (a lock that is taken, a yield): some time passes, and others get their turn.
void backoff() noexcept;

// The calling thread's number.
[[nodiscard]] std::uint32_t this_thread() noexcept;
// A thread that begins where the caller is now; it runs from its `arrive` on.
void register_thread(std::uint32_t thread) noexcept;
void enter_schedule(std::uint32_t thread) noexcept;
void cancel_thread_start(std::uint32_t thread) noexcept;
// The calling thread takes no more turns. Who joins it takes its clock.
void leave_schedule() noexcept;
[[nodiscard]] bool has_ended(std::uint32_t thread) noexcept;
void unregister_thread(std::uint32_t thread) noexcept;
// What ends is waited for by this key.
[[nodiscard]] std::uint64_t exit_key(std::uint32_t thread) noexcept;

// Around a wait inside another library: the others go on without this thread, and nothing repeats any more.
class ScopedBlockingCall {
 public:
  ScopedBlockingCall() noexcept;
  ~ScopedBlockingCall();
  ScopedBlockingCall(const ScopedBlockingCall&) = delete;
  ScopedBlockingCall& operator=(const ScopedBlockingCall&) = delete;

 private:
  bool left_;
};

}  // namespace terrace::agent
