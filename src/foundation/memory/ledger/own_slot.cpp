// See own_slot.hpp.
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
constexpr int k_repairs = 16;  // to have the own slot back

}  // namespace

struct OwnSlot::Mark {
  std::uint32_t joined;
  std::uint32_t turn;  // 0: free; 1: taken; 2: taken, and somebody waits
};

OwnSlot::OwnSlot(LedgerPage& page) : page_(page), since_(since(page)) {
  void* const map = ::mmap(nullptr, k_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) throw Error(Code::no_memory, "no memory for a slot of the ledger");
  mark_ = static_cast<Mark*>(map);
  wiped_ = ::madvise(map, k_page, MADV_WIPEONFORK) == 0;
  demands_.fill(k_no_demand);
  if (join()) return;
  ::munmap(map, k_page);
  throw Error(Code::failed, "the job's ledger has " + std::to_string(k_ledger_slots) +
                                " slots and as many live processes; no more can take part");
}

OwnSlot::~OwnSlot() {
  if (!is_inherited() && is_owned_by(page_, index_, who_, tag_)) vacate(page_, index_, read_owner(page_, index_));
  ::munmap(mark_, k_page);
}

bool OwnSlot::is_inherited() const noexcept {
  if (wiped_) return load(mark_->joined) == 0;
  return static_cast<std::uint32_t>(::getpid()) != who_.process;
}

OwnSlot::Turn::Turn(OwnSlot& slot) noexcept : word_(&slot.mark_->turn) {
  if (replace(*word_, 0U, 1U)) return;
  while (__atomic_exchange_n(word_, 2U, __ATOMIC_ACQUIRE) != 0)
    ::syscall(SYS_futex, word_, FUTEX_WAIT_PRIVATE, 2U, nullptr, nullptr, 0);
}

OwnSlot::Turn::~Turn() {
  if (__atomic_exchange_n(word_, 0U, __ATOMIC_RELEASE) == 2U)
    ::syscall(SYS_futex, word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

bool OwnSlot::join() noexcept {
  who_ = this_process();
  const PageLock lock(page_, k_joining, who_);
  if (!claim_slot()) {
    free_dead_slots(page_, who_, true, since_);
    if (!claim_slot()) return false;
  }
  write_all();
  raise_used_slots(page_, index_ + 1);
  publish(mark_->joined, 1U);
  return true;
}

bool OwnSlot::claim_slot() noexcept {
  for (std::size_t slot = 0; slot < k_ledger_slots; ++slot) {
    const auto owner = read_owner(page_, slot);
    if (!owner.first_whole) continue;
    if (owner.kind == SlotOwner::Kind::owned && may_be_alive(owner.who, who_)) continue;
    // It is this process's before its amounts are, which may be those of a dead one: for a moment more counts as
    // held than is.
    if (!claim(page_, slot, owner, who_)) continue;
    index_ = slot;
    tag_ = tag_of(who_, slot);
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
    for (auto& one : held_) {
      one.held.store(0, std::memory_order_relaxed);
      one.outstanding.store(0, std::memory_order_relaxed);
    }
    demands_.fill(k_no_demand);
    return join() ? State::whole : State::none;
  }
  auto state = repair_owner();
  if (state == State::none) return state;
  looked_at_ = static_cast<PlaceId>((looked_at_ + 1U) % k_ledger_places);
  for (const auto one : {place, looked_at_})
    if (repair_account(one)) state = State::repaired;
  return state;
}

OwnSlot::State OwnSlot::repair_owner() noexcept {
  if (is_owned_by(page_, index_, who_, tag_)) [[likely]]
    return State::whole;
  // It may change between a look and the claim: by another stray write, or by who looks for the dead.
  for (int tries = 0; tries < k_repairs; ++tries) {
    const auto owner = read_owner(page_, index_);
    const bool is_ours = owner.kind == SlotOwner::Kind::owned && owner.who == who_;
    if (!is_ours && owner.kind != SlotOwner::Kind::unknown) break;
    if (claim(page_, index_, owner, who_)) return State::repaired;
  }
  return join() ? State::repaired : State::none;  // it was given to another: what is held is held on
}

bool OwnSlot::repair_account(PlaceId place) noexcept {
  bool damaged = false;
  if (const auto mine = amount(place); !says_amount(page_, index_, place, mine)) {
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
  return {held_[place].held.load(std::memory_order_relaxed),
          held_[place].outstanding.load(std::memory_order_relaxed)};
}

void OwnSlot::write(PlaceId place, const LedgerAmount& amount) noexcept {
  held_[place].held.store(amount.held, std::memory_order_relaxed);
  held_[place].outstanding.store(amount.outstanding, std::memory_order_relaxed);
  write_amount(page_, index_, place, amount);
}

void OwnSlot::write(PlaceId place, const LedgerDemand& demand) noexcept {
  demands_[place] = demand;
  write_demand(page_, index_, place, demand);
}

}  // namespace terrace::memory
