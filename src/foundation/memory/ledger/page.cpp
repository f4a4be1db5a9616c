// SPDX-License-Identifier: Apache-2.0
// Reads and writes the slots of a ledger's shared page, with checksums and two copies of each entry. The classes
// of this folder call it. See page.hpp.
#include "memory/ledger/page.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/system_time.hpp"

namespace terrace::memory {

namespace {

constexpr int k_max_reads = 16;  // of an entry that its process may be changing

// Hashes a word into `so_far`: each input bit changes half of the output bits (the finaliser of MurmurHash3).
constexpr std::uint64_t mixed(std::uint64_t so_far, std::uint64_t word) noexcept {
  auto x = so_far * 0x9e3779b97f4a7c15 ^ word;
  x = (x ^ x >> 33) * 0xff51afd7ed558ccd;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53;
  return x ^ x >> 33;
}

// Seeds the checksum of an entry. Never 0, so that zeros are no amount with a valid checksum.
constexpr std::uint64_t checksum_seed(std::size_t slot, std::size_t place, std::uint64_t of_what) noexcept {
  return of_what << 32 | slot << 8 | place;
}

constexpr std::uint64_t k_of_amount = 1;
constexpr std::uint64_t k_of_demand = 2;

constexpr std::uint64_t k_of_record = 3;

constexpr std::uint64_t vacant_tag(std::size_t slot) noexcept { return mixed(0x766163616e74, slot); }

constexpr std::uint64_t checksum_of(const LedgerAmount& amount, std::size_t slot, PlaceId place) noexcept {
  return mixed(mixed(checksum_seed(slot, place, k_of_amount), amount.held), amount.outstanding);
}

std::uint64_t checksum_of(const LedgerPage::Demand& demand, std::size_t slot, PlaceId place) noexcept {
  return mixed(mixed(mixed(checksum_seed(slot, place, k_of_demand), demand.quota), demand.weight), demand.gain);
}

ProcessIdentity load_identity(const ProcessIdentity& who) noexcept {
  return {load(who.process), load(who.space), load(who.start), load(who.image)};
}

void store_owner(LedgerPage::Owner& owner, const ProcessIdentity& who, std::uint64_t tag) noexcept {
  store(owner.who.process, who.process);
  store(owner.who.space, who.space);
  store(owner.who.start, who.start);
  store(owner.who.image, who.image);
  publish(owner.tag, tag);
}

constexpr std::uint64_t checksum_of_time(std::uint64_t since) noexcept { return mixed(0x73696e6365, since); }

constexpr std::uint64_t k_used_bits = 16;
constexpr std::uint64_t pack_used_slots(std::uint64_t slots) noexcept {
  return mixed(0x75736564, slots) << k_used_bits | slots;
}

LedgerAmount load_amount(const LedgerPage::Entry& entry) noexcept {
  return {load(entry.amount.held), load(entry.amount.outstanding)};
}

}  // namespace

LedgerPage::LedgerPage() noexcept {
  magic = k_ledger_magic;
  size = sizeof(LedgerPage);
  since[0] = this_process().start;
  since[1] = checksum_of_time(since[0]);
  std::memset(&description, 0, sizeof description);
  lock = 0;
  damage_reported = 0;
  last_thorough_search_ns = 0;
  packed_used_slots = pack_used_slots(0);
  for (std::size_t which = 0; which < 2; ++which)
    for (std::size_t slot = 0; slot < k_ledger_slots; ++slot) copy(which).owners[slot] = {vacant_tag(slot), {}};
}

std::uint64_t since(const LedgerPage& page) noexcept {
  const auto time = load(page.since[0]);
  return load(page.since[1]) == checksum_of_time(time) ? time : 0;
}

std::size_t used_slots(const LedgerPage& page) noexcept {
  const auto word = load(page.packed_used_slots);
  const auto slots = word & ((1U << k_used_bits) - 1);
  return word == pack_used_slots(slots) && slots <= k_ledger_slots ? slots : k_ledger_slots;
}

void raise_used_slots(LedgerPage& page, std::size_t slots) noexcept {
  while (true) {
    const auto found = load(page.packed_used_slots);
    const auto desired = pack_used_slots(std::max(used_slots(page), slots));
    if (found == desired || compare_exchange(page.packed_used_slots, found, desired)) return;
  }
}

std::uint64_t tag_of(const ProcessIdentity& who, std::size_t slot) noexcept {
  const auto number = std::uint64_t{who.process} << 32 | who.space;
  return mixed(mixed(mixed(mixed(0x6f776e6564, slot), number), who.start), who.image);
}

// Reads the first valid copy of a slot's owner; retries while its process may be writing it.
SlotOwner read_owner(const LedgerPage& page, std::size_t slot) noexcept {
  SlotOwner found;
  for (int attempt = 0; attempt < k_max_reads; ++attempt) {
    for (std::size_t copy = 0; copy < 2; ++copy) {
      const auto& owner = page.copy(copy).owners[slot];
      const auto tag = found.tags[copy] = load(owner.tag);
      if (tag == vacant_tag(slot)) {
        found.kind = SlotOwner::Kind::vacant;
      } else if (const auto who = load_identity(owner.who); tag == tag_of(who, slot)) {
        found.kind = SlotOwner::Kind::owned;
        found.who = who;
      } else {
        continue;
      }
      found.is_first_copy_valid = copy == 0;
      if (copy == 0) found.tags[1] = load(page.second.owners[slot].tag);
      return found;
    }
  }
  return found;
}

bool claim(LedgerPage& page, std::size_t slot, const SlotOwner& found, const ProcessIdentity& who) noexcept {
  const auto tag = tag_of(who, slot);
  if (found.tags[0] != tag && !compare_exchange(page.first.owners[slot].tag, found.tags[0], tag)) return false;
  store_owner(page.first.owners[slot], who, tag);
  store_owner(page.second.owners[slot], who, tag);
  return true;
}

// Leaves a damaged second copy alone: it is invalid anyway, and a stray write could restore the same damage later,
// over a new owner's tag.
void free_slot(LedgerPage& page, std::size_t slot, const SlotOwner& found) noexcept {
  if (!compare_exchange(page.first.owners[slot].tag, found.tags[0], vacant_tag(slot))) return;
  if (found.kind == SlotOwner::Kind::owned && found.tags[1] == tag_of(found.who, slot))
    compare_exchange(page.second.owners[slot].tag, found.tags[1], vacant_tag(slot));
}

bool retag_damaged(LedgerPage& page, std::size_t slot, SlotOwner& found, const ProcessIdentity& by) noexcept {
  const auto when = to_ns(read_kernel_clock(CLOCK_MONOTONIC));
  const auto tag = mixed(mixed(mixed(0x6d61726b, slot), tag_of(by, slot)), when);
  if (!compare_exchange(page.first.owners[slot].tag, found.tags[0], tag)) return false;
  found.tags[0] = tag;
  return true;
}

bool is_owned_by(const LedgerPage& page, std::size_t slot, const ProcessIdentity& who,
                 std::uint64_t tag) noexcept {
  const auto matches = [&](const LedgerPage::Owner& owner) {
    return load(owner.tag) == tag && load_identity(owner.who) == who;
  };
  return matches(page.first.owners[slot]) && matches(page.second.owners[slot]);
}

std::optional<LedgerAmount> read_amount(const LedgerPage& page, std::size_t slot, PlaceId place) noexcept {
  for (int attempt = 0; attempt < k_max_reads; ++attempt) {
    std::optional<LedgerAmount> found;
    for (std::size_t copy = 0; copy < 2; ++copy) {
      const auto& entry = page.copy(copy).entries[slot][place];
      const auto amount = load_amount(entry);
      if (load(entry.check) != checksum_of(amount, slot, place)) continue;
      if (!found) found.emplace();
      found->held = std::max(found->held, amount.held);
      found->outstanding = std::max(found->outstanding, amount.outstanding);
    }
    if (found) return found;
  }
  return std::nullopt;
}

// Writes both copies of an amount; the last store publishes it to the other processes.
void write_amount(LedgerPage& page, std::size_t slot, PlaceId place, const LedgerAmount& amount) noexcept {
  const auto check = checksum_of(amount, slot, place);
  auto& first = page.first.entries[slot][place];
  store(first.amount.held, amount.held);
  store(first.amount.outstanding, amount.outstanding);
  store(first.check, check);
  auto& second = page.second.entries[slot][place];
  store(second.amount.held, amount.held);
  store(second.amount.outstanding, amount.outstanding);
  publish(second.check, check);
}

bool holds_amount(const LedgerPage& page, std::size_t slot, PlaceId place, const LedgerAmount& amount) noexcept {
  const auto check = checksum_of(amount, slot, place);
  const auto matches = [&](const LedgerPage::Entry& entry) {
    return load(entry.check) == check && load_amount(entry) == amount;
  };
  return matches(page.first.entries[slot][place]) && matches(page.second.entries[slot][place]);
}

LedgerDemand read_demand(const LedgerPage& page, std::size_t slot, PlaceId place) noexcept {
  const auto& shared = page.demands[slot][place];
  for (int attempt = 0; attempt < k_max_reads; ++attempt) {
    const LedgerPage::Demand seen{load(shared.quota), load(shared.weight), load(shared.gain), load(shared.check)};
    if (seen.check != checksum_of(seen, slot, place)) continue;
    return {seen.quota, static_cast<std::uint32_t>(seen.weight), std::bit_cast<double>(seen.gain)};
  }
  return {.weight = 0};
}

void write_demand(LedgerPage& page, std::size_t slot, PlaceId place, const LedgerDemand& demand) noexcept {
  LedgerPage::Demand desired{demand.quota, demand.weight, std::bit_cast<std::uint64_t>(demand.gain), 0};
  desired.check = checksum_of(desired, slot, place);
  auto& shared = page.demands[slot][place];
  store(shared.quota, desired.quota);
  store(shared.weight, desired.weight);
  store(shared.gain, desired.gain);
  publish(shared.check, desired.check);
}

// Other processes may read the record meanwhile: an odd version and the checksum tell them.
void write_record(LedgerPage& page, std::size_t slot, std::uint64_t tag, LedgerRecordKind kind,
                  std::span<const std::byte> record) noexcept {
  const auto write = [&](auto& shared) {
    const auto version = load(shared.version) | 1U;
    publish(shared.version, version);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    auto check = mixed(mixed(mixed(checksum_seed(slot, 0, k_of_record), tag), version + 1), record.size());
    for (std::size_t at = 0; at < record.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, record.data() + at, std::min(sizeof word, record.size() - at));
      store(shared.words[at / sizeof word], word);
      check = mixed(check, word);
    }
    store(shared.size, std::uint64_t{record.size()});
    store(shared.check, check);
    publish(shared.version, version + 1);
  };
  if (kind == LedgerRecordKind::small)
    write(page.small_records[slot]);
  else
    write(page.large_records[slot]);
}

std::optional<std::size_t> read_record(const LedgerPage& page, std::size_t slot, std::uint64_t tag,
                                       LedgerRecordKind kind, std::span<std::byte> to) noexcept {
  const auto read = [&](const auto& shared) -> std::optional<std::size_t> {
    for (int attempt = 0; attempt < k_max_reads; ++attempt) {
      const auto version = load(shared.version);
      const auto size = load(shared.size);
      if (version == 0) return std::nullopt;
      if (size > std::min(to.size(), sizeof shared.words)) continue;
      auto check = mixed(mixed(mixed(checksum_seed(slot, 0, k_of_record), tag), version), size);
      for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
        const auto word = load(shared.words[at / sizeof(std::uint64_t)]);
        std::memcpy(to.data() + at, &word, std::min(sizeof word, size - at));
        check = mixed(check, word);
      }
      if (version % 2 == 0 && load(shared.check) == check && load(shared.version) == version) return size;
    }
    return std::nullopt;
  };
  return kind == LedgerRecordKind::small ? read(page.small_records[slot]) : read(page.large_records[slot]);
}

std::uint64_t checksum_of(const LedgerDescription& description) noexcept {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&description);
  std::uint64_t check = 0;
  for (std::size_t at = 0; at < offsetof(LedgerDescription, check); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, sizeof word);
    check = mixed(check, word);
  }
  return check;
}

}  // namespace terrace::memory
