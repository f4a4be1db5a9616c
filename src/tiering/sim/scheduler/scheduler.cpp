// Taking turns. See scheduler.hpp.
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

constexpr timespec k_patience{0, 100'000'000};  // between two looks at whoever has the turn
constexpr std::uint32_t k_looks = 3;            // that find it asleep in the same turn
constexpr std::uint32_t k_stuck = 50;           // that find it at work in the same turn: it may wait for another

void call(std::atomic<std::uint32_t>& called) {
  called.store(1, std::memory_order_release);
  futex_wake(called, 1);
}

// What the system says of a thread of this process: 'R', 'S', ...; 0 when there is none.
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

// For a few dozen instructions at a time.
class Scheduler::Locked {
 public:
  explicit Locked(const Scheduler& scheduler) : lock_(scheduler.page_.lock) {
    for (unsigned tries = 0; lock_.exchange(1, std::memory_order_acquire) != 0; ++tries)
      if (tries > 100) syscall(SYS_sched_yield);
  }
  ~Locked() { lock_.store(0, std::memory_order_release); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  std::atomic<std::uint32_t>& lock_;
};

Scheduler::Scheduler(SchedulerPage& page, std::uint32_t thread) : page_(page) {
  TurnSlot& slot = page_.slots[0];
  slot.thread = thread;
  slot.state = TurnState::running;
  slot.system_thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
  page_.slots_used = 1;
  page_.alive.store(1, std::memory_order_relaxed);
}

TurnSlot* Scheduler::find(std::uint32_t thread) const {
  for (std::uint32_t i = 0; i < page_.slots_used; ++i) {
    TurnSlot& slot = page_.slots[i];
    if (slot.state != TurnState::none && slot.thread == thread) return &slot;
  }
  return nullptr;
}

// --- whose turn it is
// ------------------------------------------------------------------------------------------------

void Scheduler::give() {
  TurnSlot* next = nullptr;
  std::uint64_t furthest_behind = 0;
  for (std::uint32_t i = 0; i < page_.slots_used; ++i) {
    TurnSlot& slot = page_.slots[i];
    std::uint64_t at = slot.progress;
    if (slot.state == TurnState::running) return;
    if (slot.state == TurnState::waiting && slot.deadline != k_forever)
      at = std::max(at, slot.deadline);
    else if (slot.state != TurnState::ready)
      continue;
    if (next && (at > furthest_behind || (at == furthest_behind && slot.thread > next->thread))) continue;
    next = &slot;
    furthest_behind = at;
  }
  if (!next) return;
  if (next->state == TurnState::waiting) next->timed_out = 1;
  next->progress = furthest_behind;
  next->state = TurnState::running;
  ++page_.turns;
  call(next->called);
}

void Scheduler::await(TurnSlot& slot) {
  std::uint32_t looks = 0;
  std::uint64_t seen = 0;
  while (slot.called.load(std::memory_order_acquire) == 0 && page_.stopped.load(std::memory_order_relaxed) == 0) {
    futex_wait(slot.called, 0, &k_patience);
    if (slot.called.load(std::memory_order_acquire) != 0) break;
    const Locked locked(*this);
    looks = page_.turns == seen ? looks + 1 : 0;
    seen = page_.turns;
    if (looks >= k_looks) look_after(looks >= k_stuck);
  }
  slot.called.store(0, std::memory_order_relaxed);
}

// Nothing has happened for a while. Whoever has the turn may work where nobody sees it, and all is well; but not
// for ever: it could be looking again and again for what another one is to do.
void Scheduler::look_after(bool stuck) {
  for (std::uint32_t i = 0; i < page_.slots_used; ++i) {
    TurnSlot& slot = page_.slots[i];
    if (slot.state != TurnState::running) continue;
    const char state = slot.system_thread == 0 ? 'R' : system_state(slot.system_thread);
    if (state != 'S' && state != 0 && !(state == 'R' && stuck && slot.system_thread != 0)) return;
    slot.state = state == 0 ? TurnState::none : TurnState::away;
    if (state == 0) page_.alive.fetch_sub(1, std::memory_order_relaxed);
    not_repeatable();
    return give();
  }
  for (std::uint32_t i = 0; i < page_.slots_used; ++i)
    if (page_.slots[i].state == TurnState::away) return;  // whoever it waits for
  // Everybody waits, perhaps for a waking that nobody told us of: they look again whether they have to.
  not_repeatable();
  for (std::uint32_t i = 0; i < page_.slots_used; ++i)
    if (page_.slots[i].state == TurnState::waiting) page_.slots[i].state = TurnState::ready;
  give();
}

bool Scheduler::pass(std::uint32_t thread) {
  TurnSlot* slot = nullptr;
  {
    const Locked locked(*this);
    slot = find(thread);
    if (!slot || page_.stopped.load(std::memory_order_relaxed) != 0) return false;
    slot->state = TurnState::ready;
    slot->called.store(0, std::memory_order_relaxed);
    give();
    if (slot->state == TurnState::running) {
      slot->called.store(0, std::memory_order_relaxed);
      return false;
    }
  }
  await(*slot);
  return true;
}

void Scheduler::stop() {
  const Locked locked(*this);
  page_.stopped.store(1, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < page_.slots_used; ++i)
    if (page_.slots[i].state != TurnState::none) call(page_.slots[i].called);
}

// --- threads
// ---------------------------------------------------------------------------------------------------------

bool Scheduler::begin(std::uint32_t thread, std::uint32_t creator) {
  const Locked locked(*this);
  std::uint32_t at = 0;
  while (at < page_.slots_used && page_.slots[at].state != TurnState::none) ++at;
  if (at == k_max_threads) {
    not_repeatable();
    return false;
  }
  page_.slots_used = std::max(page_.slots_used, at + 1);
  const TurnSlot* const from = find(creator);
  TurnSlot& slot = page_.slots[at];
  slot.thread = thread;
  slot.progress = from ? from->progress : 0;
  slot.deadline = k_forever;
  slot.key = slot.order = 0;
  slot.timed_out = slot.system_thread = 0;
  slot.called.store(0, std::memory_order_relaxed);
  slot.state = TurnState::ready;
  page_.alive.fetch_add(1, std::memory_order_relaxed);
  give();
  return true;
}

void Scheduler::arrive(std::uint32_t thread) {
  TurnSlot* slot = nullptr;
  {
    const Locked locked(*this);
    slot = find(thread);
    if (!slot) return;
    slot->system_thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
  }
  await(*slot);
}

void Scheduler::end(std::uint32_t thread) {
  const Locked locked(*this);
  TurnSlot* const slot = find(thread);
  if (!slot) return;
  slot->state = TurnState::ended;
  page_.alive.fetch_sub(1, std::memory_order_relaxed);
  give();
}

bool Scheduler::ended(std::uint32_t thread) const {
  const Locked locked(*this);
  const TurnSlot* const slot = find(thread);
  return !slot || slot->state == TurnState::ended;
}

void Scheduler::forget(std::uint32_t thread) {
  const Locked locked(*this);
  TurnSlot* const slot = find(thread);
  if (slot && slot->state == TurnState::ended) slot->state = TurnState::none;
}

void Scheduler::advance(std::uint32_t thread, std::uint64_t progress) {
  const Locked locked(*this);
  if (TurnSlot* const slot = find(thread)) slot->progress += progress;
}

std::uint64_t Scheduler::progress(std::uint32_t thread) const {
  const Locked locked(*this);
  const TurnSlot* const slot = find(thread);
  return slot ? slot->progress : 0;
}

// --- waiting
// ---------------------------------------------------------------------------------------------------------

bool Scheduler::wait(std::uint32_t thread, std::uint64_t key, std::uint64_t deadline) {
  TurnSlot* slot = nullptr;
  {
    const Locked locked(*this);
    slot = find(thread);
    if (!slot || stopped()) return true;
    slot->key = key;
    slot->deadline = deadline;
    slot->order = ++page_.waits;
    slot->timed_out = 0;
    slot->called.store(0, std::memory_order_relaxed);
    slot->state = TurnState::waiting;
    give();
  }
  await(*slot);
  slot->deadline = k_forever;
  return slot->timed_out == 0;
}

std::uint32_t Scheduler::wake(std::uint32_t waker, std::uint64_t key, std::uint32_t most,
                              std::span<std::uint32_t> woken) {
  const Locked locked(*this);
  const TurnSlot* const from = find(waker);
  std::uint32_t count = 0;
  for (; count < most; ++count) {
    TurnSlot* first = nullptr;
    for (std::uint32_t i = 0; i < page_.slots_used; ++i) {
      TurnSlot& slot = page_.slots[i];
      if (slot.state != TurnState::waiting || slot.key != key) continue;
      if (!first || slot.order < first->order) first = &slot;
    }
    if (!first) break;
    first->state = TurnState::ready;
    if (from) first->progress = std::max(first->progress, from->progress);
    if (count < woken.size()) woken[count] = first->thread;
  }
  if (count > 0) give();
  return count;
}

void Scheduler::meet(std::span<const std::uint32_t> threads) {
  const Locked locked(*this);
  std::uint64_t furthest = 0;
  for (const auto thread : threads)
    if (const TurnSlot* const slot = find(thread)) furthest = std::max(furthest, slot->progress);
  for (const auto thread : threads)
    if (TurnSlot* const slot = find(thread)) slot->progress = furthest;
}

bool Scheduler::wake_thread(std::uint32_t waker, std::uint32_t thread) {
  const Locked locked(*this);
  const TurnSlot* const from = find(waker);
  TurnSlot* const slot = find(thread);
  if (!slot || slot->state != TurnState::waiting) return false;
  slot->state = TurnState::ready;
  if (from) slot->progress = std::max(slot->progress, from->progress);
  give();
  return true;
}

std::uint32_t Scheduler::requeue(std::uint64_t from, std::uint64_t to, std::uint32_t most) {
  const Locked locked(*this);
  std::uint32_t count = 0;
  for (; count < most; ++count) {
    TurnSlot* first = nullptr;
    for (std::uint32_t i = 0; i < page_.slots_used; ++i) {
      TurnSlot& slot = page_.slots[i];
      if (slot.state != TurnState::waiting || slot.key != from) continue;
      if (!first || slot.order < first->order) first = &slot;
    }
    if (!first) break;
    first->key = to;
  }
  return count;
}

void Scheduler::leave(std::uint32_t thread) {
  const Locked locked(*this);
  TurnSlot* const slot = find(thread);
  if (!slot) return;
  slot->state = TurnState::away;
  give();
}

void Scheduler::come_back(std::uint32_t thread) { pass(thread); }

}  // namespace terrace::sim
