// SPDX-License-Identifier: Apache-2.0
// Dispatches the quanta of a program's threads under a spin lock in shared memory. The agent's interposed thread
// functions call it. See scheduler.hpp.
#include "sim/scheduler/scheduler.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "core/futex.hpp"

namespace terrace::sim {

namespace {

constexpr timespec k_patience{0, 100'000'000};  // interval of the watchdog
constexpr std::uint32_t k_looks = 3;            // ticks in one quantum after which a sleeping thread loses it
constexpr std::uint32_t k_stuck = 50;           // the same for a working thread, which may spin

void signal_dispatch(std::atomic<std::uint32_t>& dispatched) {
  dispatched.store(1, std::memory_order_release);
  futex_wake(dispatched, 1);
}

// Returns the kernel's state of a thread of this process: 'R', 'S', ...; 0 if there is no such thread.
char system_state(std::uint32_t system_thread) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%u/stat", system_thread);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[512];
  const auto length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return 0;
  text[length] = 0;
  const char* const name_end = std::strrchr(text, ')');
  return name_end && name_end[1] == ' ' ? name_end[2] : '\0';
}

}  // namespace

// Holds the page's spin lock, for a few dozen instructions at a time.
class Scheduler::SpinGuard {
 public:
  explicit SpinGuard(const Scheduler& scheduler) : lock_(scheduler.page_.lock) {
    for (unsigned tries = 0; lock_.exchange(1, std::memory_order_acquire) != 0; ++tries)
      if (tries > 100) syscall(SYS_sched_yield);
  }
  ~SpinGuard() { lock_.store(0, std::memory_order_release); }
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;

 private:
  std::atomic<std::uint32_t>& lock_;
};

Scheduler::Scheduler(SchedulerPage& page, std::uint32_t thread) : page_(page) {
  ThreadSlot& slot = page_.slots[0];
  slot.thread = thread;
  slot.state = ThreadState::running;
  slot.system_thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
  page_.slots_used = 1;
  page_.alive.store(1, std::memory_order_relaxed);
}

ThreadSlot* Scheduler::find(std::uint32_t thread) const {
  for (std::uint32_t i = 0; i < page_.slots_used; ++i) {
    ThreadSlot& slot = page_.slots[i];
    if (slot.state != ThreadState::none && slot.thread == thread) return &slot;
  }
  return nullptr;
}

// --- dispatch ---------------------------------------------------------------------------------------------------

void Scheduler::dispatch() {
  ThreadSlot* next = nullptr;
  std::uint64_t furthest_behind = 0;
  for (std::uint32_t i = 0; i < page_.slots_used; ++i) {
    ThreadSlot& slot = page_.slots[i];
    std::uint64_t at = slot.progress;
    if (slot.state == ThreadState::running) return;
    if (slot.state == ThreadState::waiting && slot.deadline != k_forever)
      at = std::max(at, slot.deadline);
    else if (slot.state != ThreadState::ready)
      continue;
    if (next && (at > furthest_behind || (at == furthest_behind && slot.thread > next->thread))) continue;
    next = &slot;
    furthest_behind = at;
  }
  if (!next) return;
  if (next->state == ThreadState::waiting) next->timed_out = 1;
  next->progress = furthest_behind;
  next->state = ThreadState::running;
  ++page_.num_quanta;
  signal_dispatch(next->dispatched);
}

void Scheduler::wait_until_dispatched(ThreadSlot& slot) {
  std::uint32_t looks = 0;
  std::uint64_t seen = 0;
  while (slot.dispatched.load(std::memory_order_acquire) == 0 &&
         page_.stopped.load(std::memory_order_relaxed) == 0) {
    futex_wait(slot.dispatched, 0, &k_patience);
    if (slot.dispatched.load(std::memory_order_acquire) != 0) break;
    const SpinGuard locked(*this);
    looks = page_.num_quanta == seen ? looks + 1 : 0;
    seen = page_.num_quanta;
    if (looks >= k_looks) watchdog_tick(looks >= k_stuck);
  }
  slot.dispatched.store(0, std::memory_order_relaxed);
}

// Revokes the quantum of a thread that sleeps or, if `stuck`, works: without visible progress for seconds it may
// spin for another thread. A working thread keeps its quantum until then, because its work may be unobserved.
void Scheduler::watchdog_tick(bool stuck) {
  for (std::uint32_t i = 0; i < page_.slots_used; ++i) {
    ThreadSlot& slot = page_.slots[i];
    if (slot.state != ThreadState::running) continue;
    const char state = slot.system_thread == 0 ? 'R' : system_state(slot.system_thread);
    if (state != 'S' && state != 0 && !(state == 'R' && stuck && slot.system_thread != 0)) return;
    slot.state = state == 0 ? ThreadState::none : ThreadState::detached;
    if (state == 0) page_.alive.fetch_sub(1, std::memory_order_relaxed);
    mark_unrepeatable();
    return dispatch();
  }
  for (std::uint32_t i = 0; i < page_.slots_used; ++i)
    if (page_.slots[i].state == ThreadState::detached) return;  // it may wake the others
  // All threads wait, perhaps for a wake-up that was not intercepted: they check their conditions again.
  mark_unrepeatable();
  for (std::uint32_t i = 0; i < page_.slots_used; ++i)
    if (page_.slots[i].state == ThreadState::waiting) page_.slots[i].state = ThreadState::ready;
  dispatch();
}

bool Scheduler::yield(std::uint32_t thread) {
  ThreadSlot* slot = nullptr;
  {
    const SpinGuard locked(*this);
    slot = find(thread);
    if (!slot || page_.stopped.load(std::memory_order_relaxed) != 0) return false;
    slot->state = ThreadState::ready;
    slot->dispatched.store(0, std::memory_order_relaxed);
    dispatch();
    if (slot->state == ThreadState::running) {
      slot->dispatched.store(0, std::memory_order_relaxed);
      return false;
    }
  }
  wait_until_dispatched(*slot);
  return true;
}

void Scheduler::stop() {
  const SpinGuard locked(*this);
  page_.stopped.store(1, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < page_.slots_used; ++i)
    if (page_.slots[i].state != ThreadState::none) signal_dispatch(page_.slots[i].dispatched);
}

// --- threads ----------------------------------------------------------------------------------------------------

bool Scheduler::add_thread(std::uint32_t thread, std::uint32_t creator) {
  const SpinGuard locked(*this);
  std::uint32_t at = 0;
  while (at < page_.slots_used && page_.slots[at].state != ThreadState::none) ++at;
  if (at == k_max_threads) {
    mark_unrepeatable();
    return false;
  }
  page_.slots_used = std::max(page_.slots_used, at + 1);
  const ThreadSlot* const from = find(creator);
  ThreadSlot& slot = page_.slots[at];
  slot.thread = thread;
  slot.progress = from ? from->progress : 0;
  slot.deadline = k_forever;
  slot.key = slot.order = 0;
  slot.timed_out = slot.system_thread = 0;
  slot.dispatched.store(0, std::memory_order_relaxed);
  slot.state = ThreadState::ready;
  page_.alive.fetch_add(1, std::memory_order_relaxed);
  dispatch();
  return true;
}

void Scheduler::enter(std::uint32_t thread) {
  ThreadSlot* slot = nullptr;
  {
    const SpinGuard locked(*this);
    slot = find(thread);
    if (!slot) return;
    slot->system_thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
  }
  wait_until_dispatched(*slot);
}

void Scheduler::end_thread(std::uint32_t thread) {
  const SpinGuard locked(*this);
  ThreadSlot* const slot = find(thread);
  if (!slot) return;
  slot->state = ThreadState::ended;
  page_.alive.fetch_sub(1, std::memory_order_relaxed);
  dispatch();
}

bool Scheduler::has_ended(std::uint32_t thread) const {
  const SpinGuard locked(*this);
  const ThreadSlot* const slot = find(thread);
  return !slot || slot->state == ThreadState::ended;
}

void Scheduler::remove_thread(std::uint32_t thread) {
  const SpinGuard locked(*this);
  ThreadSlot* const slot = find(thread);
  if (slot && slot->state == ThreadState::ended) slot->state = ThreadState::none;
}

void Scheduler::advance(std::uint32_t thread, std::uint64_t progress) {
  const SpinGuard locked(*this);
  if (ThreadSlot* const slot = find(thread)) slot->progress += progress;
}

std::uint64_t Scheduler::progress(std::uint32_t thread) const {
  const SpinGuard locked(*this);
  const ThreadSlot* const slot = find(thread);
  return slot ? slot->progress : 0;
}

// --- waiting ----------------------------------------------------------------------------------------------------

bool Scheduler::wait(std::uint32_t thread, std::uint64_t key, std::uint64_t deadline) {
  ThreadSlot* slot = nullptr;
  {
    const SpinGuard locked(*this);
    slot = find(thread);
    if (!slot || is_stopped()) return true;
    slot->key = key;
    slot->deadline = deadline;
    slot->order = ++page_.num_waits;
    slot->timed_out = 0;
    slot->dispatched.store(0, std::memory_order_relaxed);
    slot->state = ThreadState::waiting;
    dispatch();
  }
  wait_until_dispatched(*slot);
  slot->deadline = k_forever;
  return slot->timed_out == 0;
}

std::uint32_t Scheduler::wake(std::uint32_t waker, std::uint64_t key, std::uint32_t most,
                              std::span<std::uint32_t> woken) {
  const SpinGuard locked(*this);
  const ThreadSlot* const from = find(waker);
  std::uint32_t count = 0;
  for (; count < most; ++count) {
    ThreadSlot* first = nullptr;
    for (std::uint32_t i = 0; i < page_.slots_used; ++i) {
      ThreadSlot& slot = page_.slots[i];
      if (slot.state != ThreadState::waiting || slot.key != key) continue;
      if (!first || slot.order < first->order) first = &slot;
    }
    if (!first) break;
    first->state = ThreadState::ready;
    if (from) first->progress = std::max(first->progress, from->progress);
    if (count < woken.size()) woken[count] = first->thread;
  }
  if (count > 0) dispatch();
  return count;
}

void Scheduler::synchronize(std::span<const std::uint32_t> threads) {
  const SpinGuard locked(*this);
  std::uint64_t furthest = 0;
  for (const auto thread : threads)
    if (const ThreadSlot* const slot = find(thread)) furthest = std::max(furthest, slot->progress);
  for (const auto thread : threads)
    if (ThreadSlot* const slot = find(thread)) slot->progress = furthest;
}

bool Scheduler::wake_thread(std::uint32_t waker, std::uint32_t thread) {
  const SpinGuard locked(*this);
  const ThreadSlot* const from = find(waker);
  ThreadSlot* const slot = find(thread);
  if (!slot || slot->state != ThreadState::waiting) return false;
  slot->state = ThreadState::ready;
  if (from) slot->progress = std::max(slot->progress, from->progress);
  dispatch();
  return true;
}

std::uint32_t Scheduler::requeue(std::uint64_t from, std::uint64_t to, std::uint32_t most) {
  const SpinGuard locked(*this);
  std::uint32_t count = 0;
  for (; count < most; ++count) {
    ThreadSlot* first = nullptr;
    for (std::uint32_t i = 0; i < page_.slots_used; ++i) {
      ThreadSlot& slot = page_.slots[i];
      if (slot.state != ThreadState::waiting || slot.key != from) continue;
      if (!first || slot.order < first->order) first = &slot;
    }
    if (!first) break;
    first->key = to;
  }
  return count;
}

void Scheduler::detach(std::uint32_t thread) {
  const SpinGuard locked(*this);
  ThreadSlot* const slot = find(thread);
  if (!slot) return;
  slot->state = ThreadState::detached;
  dispatch();
}

void Scheduler::reattach(std::uint32_t thread) { yield(thread); }

}  // namespace terrace::sim
