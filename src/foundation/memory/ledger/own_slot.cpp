// SPDX-License-Identifier: Apache-2.0
// Claims, writes and repairs this process's slot of the job's ledger, for Ledger (ledger.cpp). See own_slot.hpp.
#include "memory/ledger/own_slot.hpp"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

#include "core/error.hpp"
#include "core/rounding.hpp"
#include "memory/ledger/dead_slots.hpp"
#include "memory/ledger/page_lock.hpp"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18  // <linux/mman.h>, since Linux 4.14
#endif

namespace terrace::memory {

namespace {

constexpr LedgerDemand k_no_demand{.weight = 0};
constexpr int k_max_repairs = 16;  // attempts to reclaim the own slot

}  // namespace

struct OwnSlot::ForkLocal {
  std::uint32_t joined;
  std::uint32_t lock_word;  // futex; 0: free, 1: locked, 2: locked with waiters
};

OwnSlot::OwnSlot(LedgerPage& page) : page_(page), page_creation_time_(since(page)) {
  void* const map = ::mmap(nullptr, k_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED)
    throw Error(Code::no_memory, "no address space for a slot of the job's ledger; raise ulimit -v");
  fork_local_ = static_cast<ForkLocal*>(map);
  is_wiped_on_fork_ = ::madvise(map, k_page, MADV_WIPEONFORK) == 0;
  demands_.fill(k_no_demand);
  if (join()) return;
  ::munmap(map, k_page);
  throw Error(Code::failed, "the job's ledger has " + std::to_string(k_ledger_slots) +
                                " slots, and live processes use all; run fewer processes of the job at once");
}

OwnSlot::~OwnSlot() {
  if (!is_inherited() && is_owned_by(page_, index_, identity_, tag_))
    free_slot(page_, index_, read_owner(page_, index_));
  ::munmap(fork_local_, k_page);
}

bool OwnSlot::is_inherited() const noexcept {
  if (is_wiped_on_fork_) return load(fork_local_->joined) == 0;
  return static_cast<std::uint32_t>(::getpid()) != identity_.process;
}

OwnSlot::ScopedLock::ScopedLock(OwnSlot& slot) noexcept : word_(&slot.fork_local_->lock_word) {
  if (compare_exchange(*word_, 0U, 1U)) return;
  while (__atomic_exchange_n(word_, 2U, __ATOMIC_ACQUIRE) != 0)
    ::syscall(SYS_futex, word_, FUTEX_WAIT_PRIVATE, 2U, nullptr, nullptr, 0);
}

OwnSlot::ScopedLock::~ScopedLock() {
  if (__atomic_exchange_n(word_, 0U, __ATOMIC_RELEASE) == 2U)
    ::syscall(SYS_futex, word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// Claims a slot for this process, at first or after fork(2), and writes its amounts. Returns false if none is
// free.
bool OwnSlot::join() noexcept {
  identity_ = this_process();
  const PageLock lock(page_, k_without_slot, identity_);
  if (!try_claim_slot()) {
    release_dead_slots(page_, identity_, true, page_creation_time_);
    if (!try_claim_slot()) return false;
  }
  write_all();
  raise_used_slots(page_, index_ + 1);
  publish(fork_local_->joined, 1U);
  return true;
}

// Claims the first slot that is vacant or whose process is dead.
bool OwnSlot::try_claim_slot() noexcept {
  for (std::size_t slot = 0; slot < k_ledger_slots; ++slot) {
    const auto owner = read_owner(page_, slot);
    if (!owner.is_first_copy_valid) continue;
    if (owner.kind == SlotOwner::Kind::owned && may_be_alive(owner.who, identity_)) continue;
    // The claim precedes the amounts, which may be those of a dead process: for a moment too much counts as held.
    if (!claim(page_, slot, owner, identity_)) continue;
    index_ = slot;
    tag_ = tag_of(identity_, slot);
    return true;
  }
  return false;
}

void OwnSlot::write_all() noexcept {
  for (PlaceId place = 0; place < k_ledger_places; ++place) {
    write_amount(page_, index_, place, amount(place));
    write_demand(page_, index_, place, demands_[place]);
  }
}

OwnSlot::State OwnSlot::prepare(PlaceId place) noexcept {
  if (is_inherited()) {
    for (auto& one : amounts_) {
      one.held.store(0, std::memory_order_relaxed);
      one.outstanding.store(0, std::memory_order_relaxed);
    }
    demands_.fill(k_no_demand);
    return join() ? State::whole : State::none;
  }
  auto state = repair_owner();
  if (state == State::none) return state;
  next_checked_ = static_cast<PlaceId>((next_checked_ + 1U) % k_ledger_places);
  for (const auto one : {place, next_checked_})
    if (repair_place(one)) state = State::repaired;
  return state;
}

// Claims the slot again if a stray write has changed its owner.
OwnSlot::State OwnSlot::repair_owner() noexcept {
  if (is_owned_by(page_, index_, identity_, tag_)) [[likely]]
    return State::whole;
  // The slot may change between reading and claiming: by another stray write, or by a search for dead processes.
  for (int tries = 0; tries < k_max_repairs; ++tries) {
    const auto owner = read_owner(page_, index_);
    const bool is_ours = owner.kind == SlotOwner::Kind::owned && owner.who == identity_;
    if (!is_ours && owner.kind != SlotOwner::Kind::unknown) break;
    if (claim(page_, index_, owner, identity_)) return State::repaired;
  }
  return join() ? State::repaired : State::none;  // another process has the slot: keep the amounts in a new one
}

// Rewrites amount and demand of a place if they differ from the private copies. Returns whether they did.
bool OwnSlot::repair_place(PlaceId place) noexcept {
  bool damaged = false;
  if (const auto mine = amount(place); !holds_amount(page_, index_, place, mine)) {
    write_amount(page_, index_, place, mine);
    damaged = true;
  }
  if (read_demand(page_, index_, place) != demands_[place]) {
    write_demand(page_, index_, place, demands_[place]);
    damaged = true;
  }
  return damaged;
}

LedgerAmount OwnSlot::amount(PlaceId place) const noexcept {
  return {amounts_[place].held.load(std::memory_order_relaxed),
          amounts_[place].outstanding.load(std::memory_order_relaxed)};
}

void OwnSlot::write(PlaceId place, const LedgerAmount& amount) noexcept {
  amounts_[place].held.store(amount.held, std::memory_order_relaxed);
  amounts_[place].outstanding.store(amount.outstanding, std::memory_order_relaxed);
  write_amount(page_, index_, place, amount);
}

void OwnSlot::write(PlaceId place, const LedgerDemand& demand) noexcept {
  demands_[place] = demand;
  write_demand(page_, index_, place, demand);
}

}  // namespace terrace::memory
