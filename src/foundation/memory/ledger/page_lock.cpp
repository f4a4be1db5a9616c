// SPDX-License-Identifier: Apache-2.0
// Implements the lock of a ledger's shared page between the processes of a job. The word is 0 if the lock is free,
// else the holder's slot number + 1, and a bit that is set if a process waits. See page_lock.hpp.
#include "memory/ledger/page_lock.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace terrace::memory {

namespace {

constexpr std::uint32_t k_waiters_bit = 1U << 31;
constexpr int k_max_spins = 32;  // before it waits in the kernel
constexpr int k_max_waits = 50;  // of 1 ms each, before the lock is taken over from a live holder
constexpr timespec k_wait{0, 1000000};

// Returns whether the holder is a live process: the lock of any other holder is taken over.
bool may_be_held_by(const LedgerPage& page, std::uint32_t holder, const ProcessIdentity& self) noexcept {
  if (holder == k_without_slot + 1) return true;
  if (holder > k_ledger_slots) return false;
  const auto owner = read_owner(page, holder - 1);
  return owner.kind == SlotOwner::Kind::owned && is_alive(owner.who, self);
}

}  // namespace

PageLock::PageLock(LedgerPage& page, std::size_t slot, const ProcessIdentity& who) noexcept
    : page_(page), mine_(static_cast<std::uint32_t>(slot) + 1) {
  for (int i = 0; i < k_max_spins; ++i) {
    if (compare_exchange(page_.lock, 0U, mine_)) return;
    ::sched_yield();
  }
  wait(who);
}

// Waits in the kernel for the lock, and takes it over from a holder that is dead or too slow.
void PageLock::wait(const ProcessIdentity& who) noexcept {
  for (int waits = 0;;) {
    const auto found = load(page_.lock);
    const auto holder = found & ~k_waiters_bit;
    // A process that has waited sets the bit when it acquires the lock: others may still wait.
    const bool can_take_over =
        holder == 0 || waits >= k_max_waits || (waits > 0 && !may_be_held_by(page_, holder, who));
    if (can_take_over) {
      if (compare_exchange(page_.lock, found, mine_ | k_waiters_bit)) return;
      continue;
    }
    if (found != (holder | k_waiters_bit) && !compare_exchange(page_.lock, found, holder | k_waiters_bit))
      continue;
    ::syscall(SYS_futex, &page_.lock, FUTEX_WAIT, holder | k_waiters_bit, &k_wait, nullptr, 0);
    ++waits;
  }
}

PageLock::~PageLock() {
  while (true) {
    const auto found = load(page_.lock);
    if ((found & ~k_waiters_bit) != mine_) return;  // another process has taken the lock over
    if (!compare_exchange(page_.lock, found, 0U)) continue;
    if ((found & k_waiters_bit) != 0) ::syscall(SYS_futex, &page_.lock, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    return;
  }
}

}  // namespace terrace::memory
