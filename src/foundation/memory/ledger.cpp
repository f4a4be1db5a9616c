// SPDX-License-Identifier: Apache-2.0
// Implements the accounting of a job's memory by the announce-and-sum protocol of ledger.hpp. Heaps and movers
// call it before they place memory.
#include "memory/ledger.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/rounding.hpp"
#include "core/system_time.hpp"
#include "memory/ledger/dead_slots.hpp"
#include "memory/ledger/division.hpp"
#include "memory/ledger/page_lock.hpp"

namespace terrace::memory {

namespace {

constexpr std::uint64_t k_thorough_search_interval_ns = 100'000'000;

// Return a + b and a - b, clamped to the range of the type: a damaged page may hold any values.
constexpr std::uint64_t sum_of(std::uint64_t a, std::uint64_t b) noexcept {
  return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max() : a + b;
}

constexpr std::uint64_t rest_of(std::uint64_t a, std::uint64_t b) noexcept { return a > b ? a - b : 0; }

std::uint64_t now_ns() noexcept { return to_ns(read_kernel_clock(CLOCK_MONOTONIC)); }

}  // namespace

struct Ledger::Sum {
  LedgerAmount amount;
  bool unknown = false;  // some amount is destroyed: more may be held
  bool demands = false;  // some process has stated a demand
};

struct Ledger::Shares {
  std::uint64_t own = 0;
  std::uint64_t unused = 0;  // of other processes: shares minus held bytes
};

Ledger::Ledger(LedgerPage& page, machine::Budget budget, LedgerSettings settings)
    : page_(page), budget_(std::move(budget)), settings_(std::move(settings)), slot_(page) {
  if (budget_.size() > k_ledger_places) {
    throw Error(Code::unsupported, "the machine has " + std::to_string(budget_.size()) +
                                       " places, and the job's ledger supports at most " +
                                       std::to_string(k_ledger_places) + "; name one with fewer by --machine");
  }
}

// Sums the amounts of all other processes of the job.
Ledger::Sum Ledger::sum_of_others(PlaceId place, LivenessCheck liveness) const noexcept {
  Sum sum;
  const auto own = slot_.index();
  const auto used = used_slots(page_);
  for (std::size_t slot = 0; slot < used; ++slot) {
    if (slot == own) continue;
    const auto owner = read_owner(page_, slot);
    if (owner.kind == SlotOwner::Kind::vacant) continue;
    const auto amount = read_amount(page_, slot, place);
    sum.demands = sum.demands || may_have_demand(page_, slot, place);
    if (amount == LedgerAmount{}) continue;
    if (liveness == LivenessCheck::skip_dead && owner.kind == SlotOwner::Kind::owned &&
        !may_be_alive(owner.who, slot_.identity()))
      continue;
    if (amount) {
      sum.amount.held = sum_of(sum.amount.held, amount->held);
      sum.amount.outstanding = sum_of(sum.amount.outstanding, amount->outstanding);
    } else {
      sum.unknown = true;
    }
  }
  return sum;
}

// Divides the place's budget by the demands of all live processes.
Ledger::Shares Ledger::shares(PlaceId place) const noexcept {
  std::array<LedgerDemand, k_ledger_slots + 1> demands;
  std::array<std::uint64_t, k_ledger_slots + 1> held;
  std::array<std::uint64_t, k_ledger_slots + 1> shares;
  std::size_t count = 0;
  auto mine = demands.size();
  const auto own = slot_.index();
  const auto used = used_slots(page_);
  for (std::size_t slot = 0; slot < used; ++slot) {
    const auto owner = read_owner(page_, slot);
    if (owner.kind != SlotOwner::Kind::owned || !may_be_alive(owner.who, slot_.identity())) continue;
    const auto demand = slot == own ? slot_.demand(place) : read_demand(page_, slot, place);
    if (demand.weight == 0) continue;
    if (slot == own) mine = count;
    const auto amount = slot == own ? slot_.amount(place) : read_amount(page_, slot, place);
    held[count] = amount ? amount->held : 0;
    demands[count++] = demand;
  }
  const auto granule = place < settings_.granules.size() ? settings_.granules[place].value : k_page;
  divide_budget(budget_[place].value, granule, std::span(demands).first(count), shares);
  Shares result;
  for (std::size_t i = 0; i < count; ++i) {
    if (i == mine)
      result.own = shares[i];
    else
      result.unused = sum_of(result.unused, rest_of(shares[i], held[i]));
  }
  return result;
}

// Returns how many more bytes this process may acquire.
std::uint64_t Ledger::available_to_this_process(PlaceId place, const Sum& others) const noexcept {
  if (others.unknown) return 0;
  const auto mine = slot_.is_inherited() ? 0 : slot_.amount(place).held;
  const auto free = rest_of(budget_[place].value, sum_of(others.amount.held, mine));
  if (!others.demands || free == 0) return free;
  const auto divided = shares(place);
  return std::max(std::min(free, rest_of(divided.own, mine)), rest_of(free, divided.unused));
}

bool Ledger::take(PlaceId place, Bytes size) { return announce(place, size, nullptr); }

bool Ledger::reserve(PlaceId place, Bytes size, const FreeMemory& free) { return announce(place, size, &free); }

// Acquires bytes, for take() and reserve(). Where that fails, it frees the slots of dead processes and tries
// again.
bool Ledger::announce(PlaceId place, Bytes size, const FreeMemory* free) {
  const auto limit = budget_.at(place).value;
  const OwnSlot::ScopedLock slot_lock(slot_);
  if (!prepare(place)) return false;
  const auto mine = slot_.amount(place);
  if (size.value > limit || mine.held > limit - size.value) return false;
  const PageLock lock(page_, slot_.index(), slot_.identity());
  auto target = mine;
  target.held += size.value;
  if (free) target.outstanding += size.value;
  if (try_acquire(place, target, LivenessCheck::assume_alive, free)) return true;
  reclaim_dead_slots();
  return try_acquire(place, target, LivenessCheck::skip_dead, free);
}

// Announces the new amount and withdraws it if the sum exceeds the budget, or `free` does not cover what is
// outstanding.
bool Ledger::try_acquire(PlaceId place, const LedgerAmount& target, LivenessCheck liveness,
                         const FreeMemory* free) {
  const auto mine = slot_.amount(place);
  if (target.held - mine.held > available_to_this_process(place, sum_of_others(place, liveness))) return false;
  slot_.write(place, target);
  // The page lock may have been broken by a stray write, so other processes may have announced something since.
  const auto others = sum_of_others(place, liveness);
  bool fits = !others.unknown && sum_of(others.amount.held, target.held) <= budget_[place].value;
  // Pages populated in between leave the free memory before they leave the sum, so they count in at least one.
  if (fits && free)
    fits = sum_of(others.amount.outstanding, target.outstanding) <= free->of(free->context, place).value;
  if (!fits) slot_.write(place, mine);
  return fits;
}

void Ledger::give(PlaceId place, Bytes size) {
  if (place >= budget_.size()) return;
  const OwnSlot::ScopedLock slot_lock(slot_);
  // A forked child may release what its parent acquired: its own account stays at 0.
  if (!prepare(place)) return;
  auto mine = slot_.amount(place);
  mine.held = rest_of(mine.held, size.value);
  mine.outstanding = std::min(mine.outstanding, mine.held);
  slot_.write(place, mine);
}

void Ledger::commit_reserved(PlaceId place, Bytes size) {
  const OwnSlot::ScopedLock slot_lock(slot_);
  if (!prepare(place)) return;
  auto mine = slot_.amount(place);
  mine.outstanding = rest_of(mine.outstanding, size.value);
  slot_.write(place, mine);
}

void Ledger::set_demand(PlaceId place, const LedgerDemand& demand) {
  if (place >= budget_.size()) return;
  const OwnSlot::ScopedLock slot_lock(slot_);
  if (!prepare(place)) return;
  slot_.write(place, demand);
}

Bytes Ledger::share(PlaceId place) const {
  const bool has_none = slot_.is_inherited() || slot_.demand(place).weight == 0;
  return has_none ? budget_.at(place) : Bytes{shares(place).own};
}

Bytes Ledger::held(PlaceId place) const {
  const auto others = sum_of_others(place, LivenessCheck::skip_dead);
  const auto known = sum_of(others.amount.held, held_by_self(place).value);
  return {others.unknown ? std::max(known, budget_.at(place).value) : known};
}

Bytes Ledger::held_by_others(PlaceId place) const {
  const auto others = sum_of_others(place, LivenessCheck::skip_dead);
  return {others.unknown ? std::max(others.amount.held, budget_.at(place).value) : others.amount.held};
}

Bytes Ledger::held_by_self(PlaceId place) const { return {slot_.is_inherited() ? 0 : slot_.amount(place).held}; }

Bytes Ledger::outstanding(PlaceId place) const {
  const auto mine = slot_.is_inherited() ? 0 : slot_.amount(place).outstanding;
  return {sum_of(sum_of_others(place, LivenessCheck::skip_dead).amount.outstanding, mine)};
}

Bytes Ledger::available(PlaceId place) const {
  if (place >= budget_.size())
    throw Error(Code::invalid, "the ledger has no place number " + std::to_string(place) + "; it has " +
                                   std::to_string(budget_.size()) + " places, numbered from 0");
  return {available_to_this_process(place, sum_of_others(place, LivenessCheck::skip_dead))};
}

void Ledger::publish(LedgerRecordKind kind, std::span<const std::byte> record) {
  const OwnSlot::ScopedLock slot_lock(slot_);
  if (prepare(0)) slot_.write(kind, record);
}

std::vector<Ledger::Peer> Ledger::peers(bool thorough) const {
  std::vector<Peer> peers;
  const auto own = slot_.index();
  const auto used = used_slots(page_);
  for (std::size_t slot = 0; slot < used; ++slot) {
    if (slot == own) continue;
    const auto owner = read_owner(page_, slot);
    if (owner.kind != SlotOwner::Kind::owned) continue;
    if (thorough ? is_alive(owner.who, slot_.identity()) : may_be_alive(owner.who, slot_.identity()))
      peers.push_back({slot, owner.who});
  }
  return peers;
}

std::optional<std::size_t> Ledger::read_record(const Peer& peer, LedgerRecordKind kind,
                                               std::span<std::byte> to) const {
  return memory::read_record(page_, peer.slot, tag_of(peer.process, peer.slot), kind, to);
}

Bytes Ledger::held_by(const Peer& peer, PlaceId place) const {
  const auto amount = read_amount(page_, peer.slot, place);
  return amount ? Bytes{amount->held} : budget_.at(place);
}

// Frees slots of dead processes. A killed process is detected at once. Reused process numbers and owners destroyed
// by stray writes need a thorough search, at most every 100 ms.
void Ledger::reclaim_dead_slots() noexcept {
  const auto now = now_ns();
  const auto last_search = load(page_.last_thorough_search_ns);
  const bool thorough = (last_search > now || now - last_search > k_thorough_search_interval_ns) &&
                        compare_exchange(page_.last_thorough_search_ns, last_search, now);
  if (release_dead_slots(page_, slot_.identity(), thorough, slot_.page_creation_time())) report_damage();
}

bool Ledger::prepare(PlaceId place) noexcept {
  const auto state = slot_.prepare(place);
  if (state == OwnSlot::State::repaired) report_damage();
  return state != OwnSlot::State::none;
}

// Tells the user, once a job, that the shared page was overwritten.
void Ledger::report_damage() noexcept {
  if (std::exchange(has_reported_damage_, true) || !settings_.say ||
      !compare_exchange(page_.damage_reported, 0U, 1U))
    return;
  settings_.say(
      "terrace: a stray write of some process has overwritten a part of the job's ledger; what it destroyed "
      "counts as held until its process writes it again or ends\n");
}

}  // namespace terrace::memory
