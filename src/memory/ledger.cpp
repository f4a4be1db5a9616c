// The ledger's arithmetic. All changes are made under the page's lock, so that looking at what all processes hold
// and taking more of it is one step; readers need no lock. Slots are claimed in ascending order and never given
// back (a dead process's slot is taken over), so the first unclaimed slot ends every walk.
#include "memory/ledger.hpp"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "core/error.hpp"

namespace terrace::memory {
namespace {

std::uint32_t this_process() { return static_cast<std::uint32_t>(::getpid()); }

// A process that we may not signal is alive. A number that the system has given to a new process counts as alive:
// the job then holds a little less than it could, never more.
bool alive(std::uint32_t process) {
  return process == this_process() || ::kill(static_cast<pid_t>(process), 0) == 0 || errno != ESRCH;
}

class Lock {
 public:
  explicit Lock(LedgerPage& page) : page_(page) {
    const auto me = this_process();
    while (true) {
      std::uint32_t holder = 0;
      if (page_.lock.compare_exchange_strong(holder, me, std::memory_order_acquire)) return;
      // Every change is a single store, so a holder that died left the accounts whole.
      if (!alive(holder) && page_.lock.compare_exchange_strong(holder, me, std::memory_order_acquire)) return;
      ::sched_yield();
    }
  }
  ~Lock() { page_.lock.store(0, std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  LedgerPage& page_;
};

// The slot of this process: its own already, or the first that is free. Called under the lock.
std::size_t claim_slot(LedgerPage& page) {
  const auto me = this_process();
  std::size_t vacant = k_ledger_slots;
  for (std::size_t i = 0; i < k_ledger_slots; ++i) {
    const auto owner = page.slots[i].process.load(std::memory_order_relaxed);
    if (owner == me) return i;
    if (vacant == k_ledger_slots && (owner == 0 || !alive(owner))) vacant = i;
    if (owner == 0) break;
  }
  if (vacant == k_ledger_slots) {
    throw Error(Code::failed, "the job's ledger has " + std::to_string(k_ledger_slots) +
                                  " slots and as many live processes; no more can take part");
  }
  auto& slot = page.slots[vacant];
  for (auto& held : slot.held) held.store(0, std::memory_order_relaxed);
  slot.process.store(me, std::memory_order_release);
  return vacant;
}

std::uint64_t held_by_all(const LedgerPage& page, PlaceId place) {
  std::uint64_t sum = 0;
  for (const auto& slot : page.slots) {
    const auto owner = slot.process.load(std::memory_order_acquire);
    if (owner == 0) break;
    const auto held = slot.held[place].load(std::memory_order_relaxed);
    if (held != 0 && alive(owner)) sum += held;
  }
  return sum;
}

}  // namespace

Ledger::Ledger(LedgerPage& page, machine::Budget budget) : page_(page), budget_(std::move(budget)) {
  if (budget_.size() > k_ledger_places) {
    throw Error(Code::unsupported, "the machine has " + std::to_string(budget_.size()) +
                                       " places; a ledger keeps accounts of at most " +
                                       std::to_string(k_ledger_places));
  }
  const Lock lock(page_);
  slot_ = claim_slot(page_);
}

bool Ledger::take(PlaceId place, Bytes size) {
  const auto limit = budget_.at(place).value;
  const Lock lock(page_);
  // A forked child has the parent's ledger but not its memory: it begins an account of its own.
  if (page_.slots[slot_].process.load(std::memory_order_relaxed) != this_process()) slot_ = claim_slot(page_);
  const auto held = held_by_all(page_, place);
  if (size.value > limit || held > limit - size.value) return false;
  auto& mine = page_.slots[slot_].held[place];
  mine.store(mine.load(std::memory_order_relaxed) + size.value, std::memory_order_relaxed);
  return true;
}

void Ledger::give(PlaceId place, Bytes size) {
  if (place >= budget_.size()) return;
  const Lock lock(page_);
  if (page_.slots[slot_].process.load(std::memory_order_relaxed) != this_process()) slot_ = claim_slot(page_);
  auto& mine = page_.slots[slot_].held[place];
  const auto held = mine.load(std::memory_order_relaxed);
  // A forked child may give back what its parent took: its own account stays at nothing.
  mine.store(held - std::min(held, size.value), std::memory_order_relaxed);
}

Bytes Ledger::held(PlaceId place) const { return {held_by_all(page_, place)}; }

Bytes Ledger::available(PlaceId place) const {
  const auto limit = budget_.at(place).value;
  const auto held = held_by_all(page_, place);
  return {held < limit ? limit - held : 0};
}

}  // namespace terrace::memory
