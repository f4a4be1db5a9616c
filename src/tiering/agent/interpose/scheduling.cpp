// SPDX-License-Identifier: Apache-2.0
// Calls the scheduler of virtual time and the threads' clocks on behalf of the interposed functions at which
// threads wait. See scheduling.hpp.
#include "agent/interpose/scheduling.hpp"

#include <algorithm>
#include <utility>

#include "agent/lifecycle/process.hpp"
#include "core/clock.hpp"
#include "observe/coverage/time_samples.hpp"
#include "observe/pipeline/pipeline.hpp"
#include "observe/threads/thread.hpp"
#include "runtime/runtime.hpp"
#include "sim/scheduler/scheduler.hpp"
#include "sim/scheduler/thread_clocks.hpp"

namespace terrace::agent {

namespace {

constexpr std::uint64_t k_nominal = 1'000'000'000;  // progress per second
// Progress charged for a failed attempt (a few cache line transfers) and for a point of contention (one).
constexpr std::uint64_t k_attempt = 200;
constexpr std::uint64_t k_competition = 32;

// Exclude the real time that an unscheduled thread of a run-time library spends from the coverage samples: it has
// no counterpart in virtual time.
void begin_idle() {
  if (auto* const samples = observe::t_thread.samples;
      samples && !std::exchange(observe::t_thread.is_parked, true))
    samples->enter_own();
}
void end_idle() {
  if (auto* const samples = observe::t_thread.samples;
      samples && std::exchange(observe::t_thread.is_parked, false))
    samples->leave_own();
}

// The process whose threads are scheduled. Remains valid after the process has finished, for threads that still
// wait for the scheduler.
constinit std::atomic<Process*> g_scheduled_process{nullptr};

// Returns process(), and remembers it for threads that still wait when it has finished.
Process* note_scheduled_process() noexcept {
  Process* const here = process();
  if (here && g_scheduled_process.load(std::memory_order_relaxed) != here)
    g_scheduled_process.store(here, std::memory_order_relaxed);
  return here;
}

Process& scheduled_process() noexcept {
  Process* const here = note_scheduled_process();
  return here ? *here : *g_scheduled_process.load(std::memory_order_relaxed);
}

sim::Scheduler& scheduler() { return *scheduled_process().scheduler; }
sim::ThreadClocks& clocks() { return *scheduled_process().thread_clocks; }

// Charges the calling thread's recorded accesses.
void flush_accesses() {
  auto* const pipeline = observe::t_thread.pipeline;
  if (pipeline && process()) pipeline->flush();
}

// Warns in the journal, once, if the order of threads was not the scheduler's alone.
void note_unless_repeatable() {
  static constinit std::atomic<bool> noted{false};
  if (scheduler().is_repeatable() || noted.exchange(true)) return;
  scheduled_process().runtime->note(
      "warning",
      "not repeatable: a thread waited in a way that Terrace cannot follow, so the order in "
      "which threads ran was the system's");
}

// Resumes the calling thread after the scheduler has selected it. Without effect if the process has finished:
// threads then run freely.
void resume() {
  if (!process()) return;
  clocks().set_running(this_thread());
  note_unless_repeatable();
}

void count_alive(std::uint32_t threads) {
  observe::g_is_multithreaded.store(threads > 1, std::memory_order_relaxed);
  clocks().set_num_alive(threads);
}

void yield_quantum() {
  if (scheduler().yield(this_thread())) resume();
}

}  // namespace

bool in_virtual_time() noexcept {
  const auto* const here = note_scheduled_process();
  return here && here->scheduler && observe::t_thread.inside == 0;
}

bool is_scheduled_now() noexcept {
  const auto* const here = note_scheduled_process();
  return here && observe::t_thread.inside == 0 && observe::t_thread.is_scheduled && !here->scheduler->is_alone() &&
         !here->scheduler->is_stopped();
}

std::uint32_t this_thread() noexcept { return observe::t_thread.number; }

void wait_for(std::uint64_t key) noexcept {
  const observe::AgentScope scope;
  flush_accesses();
  scheduler().wait(this_thread(), key);
  resume();
}

bool wait_for(std::uint64_t key, double until) noexcept {
  const observe::AgentScope scope;
  flush_accesses();
  auto& clock = *scheduled_process().clock;
  const auto left = std::clamp(until - clock.now().value, 0.0, 1e9);
  const auto deadline = scheduler().progress(this_thread()) + static_cast<std::uint64_t>(left * k_nominal);
  const bool woken = scheduler().wait(this_thread(), key, deadline);
  resume();
  if (!woken) clock.charge(Seconds{std::max(until - clock.now().value, 0.0)});
  return woken;
}

std::uint32_t wake(std::uint64_t key, std::uint32_t max_count) noexcept {
  const observe::AgentScope scope;
  flush_accesses();
  std::uint32_t woken[64];
  std::uint32_t count = 0;
  while (count < max_count) {
    const auto some =
        scheduler().wake(this_thread(), key, std::min<std::uint32_t>(max_count - count, std::size(woken)), woken);
    for (std::uint32_t i = 0; i < some; ++i) clocks().advance_to(woken[i], this_thread());
    count += some;
    if (some < std::size(woken)) break;
  }
  return count;
}

std::uint32_t wake_from_unscheduled(std::uint64_t key, std::uint32_t max_count) noexcept {
  const auto* const here = process();
  if (!here || !here->scheduler || observe::t_thread.inside > 0 || observe::t_thread.is_scheduled) return 0;
  if (here->scheduler->is_alone() || here->scheduler->is_stopped()) return 0;
  const observe::AgentScope scope;
  const auto woken = here->scheduler->wake(this_thread(), key, max_count);
  if (woken > 0) here->scheduler->mark_unrepeatable();
  return woken;
}

std::uint32_t requeue(std::uint64_t from, std::uint64_t to, std::uint32_t max_count) noexcept {
  const observe::AgentScope scope;
  return scheduler().requeue(from, to, max_count);
}

void interrupt(std::uint32_t thread) noexcept {
  const observe::AgentScope scope;
  flush_accesses();
  if (scheduler().wake_thread(this_thread(), thread)) clocks().advance_to(thread, this_thread());
}

void on_unlock(std::uint64_t lock) noexcept {
  const observe::AgentScope scope;
  flush_accesses();
  clocks().on_unlock(lock);
}

void on_lock(std::uint64_t lock) noexcept {
  const observe::AgentScope scope;
  flush_accesses();
  clocks().on_lock(lock);
}

void sync_at_barrier(std::span<const std::uint32_t> threads) noexcept {
  const observe::AgentScope scope;
  flush_accesses();
  clocks().synchronize(threads);
  scheduler().synchronize(threads);
}

void sync_clock(std::uint32_t thread, std::uint32_t other) noexcept {
  const observe::AgentScope scope;
  flush_accesses();
  clocks().advance_to(thread, other);
}

void end_quantum() noexcept {
  const auto* const here = note_scheduled_process();
  if (!here || !here->scheduler || here->scheduler->is_alone() || !observe::t_thread.is_scheduled) return;
  const observe::OwnTimeScope time;
  yield_quantum();
}

void schedule_point() noexcept {
  const observe::AgentScope scope;
  if (!process()) return;
  scheduler().advance(this_thread(), k_competition);
  if (auto* const pipeline = observe::t_thread.pipeline) pipeline->on_contention();
  yield_quantum();
}

void backoff() noexcept {
  const observe::AgentScope scope;
  flush_accesses();
  scheduler().advance(this_thread(), k_attempt);
  scheduled_process().clock->charge(Seconds{static_cast<double>(k_attempt) / k_nominal});
  yield_quantum();
}

void register_thread(std::uint32_t thread) noexcept {
  const observe::AgentScope scope;
  scheduled_process().runtime->on_multithreaded();
  flush_accesses();
  scheduler().add_thread(thread, this_thread());
  count_alive(scheduler().num_alive());
  clocks().advance_to(thread, this_thread());
}

void enter_schedule(std::uint32_t thread) noexcept {
  const observe::AgentScope scope;
  scheduler().enter(thread);
  observe::t_thread.is_scheduled = true;
  end_idle();
  resume();
}

void cancel_thread_start(std::uint32_t thread) noexcept {
  const observe::AgentScope scope;
  count_alive(scheduler().num_alive() - 1);
  scheduler().end_thread(thread);
  scheduler().remove_thread(thread);
}

void leave_schedule() noexcept {
  const observe::AgentScope scope;
  if (!observe::t_thread.is_scheduled) return;
  wake(exit_key(this_thread()), k_all_waiters);
  observe::t_thread.is_scheduled = false;
  count_alive(scheduler().num_alive() - 1);
  scheduler().end_thread(this_thread());
  begin_idle();
}

bool has_ended(std::uint32_t thread) noexcept {
  const observe::AgentScope scope;
  return scheduler().has_ended(thread);
}

void unregister_thread(std::uint32_t thread) noexcept {
  const observe::AgentScope scope;
  scheduler().remove_thread(thread);
}

std::uint64_t exit_key(std::uint32_t thread) noexcept {
  return ~std::uint64_t{0} - thread;  // no valid address of a program
}

ScopedBlockingCall::ScopedBlockingCall() noexcept : was_scheduled_(is_scheduled()) {
  if (!was_scheduled_) return;
  const observe::AgentScope scope;
  flush_accesses();
  scheduler().mark_unrepeatable();
  scheduler().detach(this_thread());
}

ScopedBlockingCall::~ScopedBlockingCall() {
  if (!was_scheduled_) return;
  const observe::AgentScope scope;
  scheduler().reattach(this_thread());
  resume();
}

}  // namespace terrace::agent
