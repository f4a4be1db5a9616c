// SPDX-License-Identifier: Apache-2.0
// Defines the shared page of a ledger and its accessors, for Ledger and the classes of this folder. They do not
// trust its content: a stray write (by a wrong pointer) of one process must not let another hand out more memory
// than there is.
//
// Each slot is written by its own process alone. Owners and amounts are stored twice, each copy with its own
// checksum; an entry of which both copies are invalid is unknown. Totals are never stored. ledger.cpp has the
// protocol by which amounts are announced and summed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/identifiers.hpp"
#include "memory/ledger/process_identity.hpp"

namespace terrace::memory {

inline constexpr std::size_t k_ledger_places = 64;
inline constexpr std::size_t k_ledger_slots = 256;
inline constexpr std::uint64_t k_ledger_magic = 0x3252454744454c54;  // "TLEDGER2" in the order of the bytes

// Bytes that a process has in a place. `outstanding` bytes are reserved and not yet populated; they count as held.
struct LedgerAmount {
  std::uint64_t held = 0;
  std::uint64_t outstanding = 0;
  bool operator==(const LedgerAmount&) const = default;
};

// Demand of a process for memory of a place; division.hpp turns demands into shares.
struct LedgerDemand {
  static constexpr std::uint64_t k_no_quota = ~std::uint64_t{0};
  std::uint64_t quota = k_no_quota;  // bytes: the process has no use for more
  std::uint32_t weight = 1;          // 0: no demand
  double gain = -1;                  // predicted seconds saved by a byte; negative: unknown
  bool operator==(const LedgerDemand&) const = default;
};

// Records that a process publishes to the other processes of the job (Ledger::publish()); their content is the
// caller's. A process has one of each kind: a small one for what changes often, and a large one.
enum class LedgerRecordKind : std::uint8_t { small, large };
inline constexpr std::array<std::size_t, 2> k_ledger_record_words{16, 2044};

// Describes the job for `terrace machine`. Written once by the creator of the page; no amount depends on it.
struct LedgerDescription {
  struct Place {
    char name[40];
    std::uint64_t budget;
    std::uint64_t granule;
  };
  char job[80];
  std::uint32_t places;
  std::uint32_t reserved;
  Place place[k_ledger_places];
  std::uint64_t check;
};

struct LedgerPage {
  struct Owner {
    std::uint64_t tag;  // hash of process and slot, or the tag of a vacant slot
    ProcessIdentity who;
  };
  struct Entry {
    LedgerAmount amount;
    std::uint64_t check;
  };
  struct Demand {
    std::uint64_t quota, weight, gain, check;
  };
  template <std::size_t Words>
  struct Record {
    std::uint64_t version;  // odd while the record is written
    std::uint64_t size;     // bytes
    std::uint64_t check;
    std::uint64_t words[Words];
  };
  struct Copy {
    Owner owners[k_ledger_slots];
    Entry entries[k_ledger_slots][k_ledger_places];
  };

  // Makes all slots vacant. Leaves their amounts alone, so that the memory of unused slots is never touched.
  LedgerPage() noexcept;

  std::uint64_t magic;
  std::uint64_t size;
  std::uint64_t since[2];  // start time of the creating process, and its checksum: older processes own no slot
  LedgerDescription description;
  std::uint32_t lock;                     // page_lock.hpp; no amount depends on it
  std::uint32_t damage_reported;          // 1: damage was reported
  std::uint64_t last_thorough_search_ns;  // time of the last thorough search for dead processes, in ns
  std::uint64_t packed_used_slots;        // number of leading slots that were ever claimed, with a checksum
  // The copies lie far apart, so that one stray write does not destroy both.
  Copy first;
  Demand demands[k_ledger_slots][k_ledger_places];
  Copy second;
  // No amount depends on the records. The memory of records that are not published is never touched.
  Record<k_ledger_record_words[0]> small_records[k_ledger_slots];
  Record<k_ledger_record_words[1]> large_records[k_ledger_slots];

  [[nodiscard]] const Copy& copy(std::size_t which) const noexcept { return which == 0 ? first : second; }
  [[nodiscard]] Copy& copy(std::size_t which) noexcept { return which == 0 ? first : second; }
};

// Access words that other processes write. Sequential consistency of load() and publish() is what the protocol of
// ledger.cpp rests on: of two concurrent announcements, at least one process sees the other's.
template <class Word>
Word load(const Word& word) noexcept {
  return __atomic_load_n(&word, __ATOMIC_SEQ_CST);
}
template <class Word>
void store(Word& word, Word value) noexcept {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}
template <class Word>
void publish(Word& word, Word value) noexcept {
  __atomic_store_n(&word, value, __ATOMIC_SEQ_CST);
}
template <class Word>
bool compare_exchange(Word& word, Word expected, Word value) noexcept {
  return __atomic_compare_exchange_n(&word, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

// Returns the start time of the process that created the page, or 0 if it was overwritten.
std::uint64_t since(const LedgerPage& page) noexcept;

// Returns the number of leading slots that may have been claimed.
std::size_t used_slots(const LedgerPage& page) noexcept;
void raise_used_slots(LedgerPage& page, std::size_t slots) noexcept;

struct SlotOwner {
  enum class Kind : std::uint8_t { vacant, owned, unknown };
  Kind kind = Kind::unknown;
  ProcessIdentity who;
  std::uint64_t tags[2]{};           // as read
  bool is_first_copy_valid = false;  // false: only the owner may change the slot, which may be in mid-claim
};
SlotOwner read_owner(const LedgerPage& page, std::size_t slot) noexcept;
// Claims the slot for a process. Returns false if it has changed since `found` was read.
bool claim(LedgerPage& page, std::size_t slot, const SlotOwner& found, const ProcessIdentity& who) noexcept;
// Makes the slot vacant. Does nothing if it has changed since `found` was read.
void free_slot(LedgerPage& page, std::size_t slot, const SlotOwner& found) noexcept;
// Writes a unique invalid tag into the damaged first copy of a slot and into `found`. Any later write is then
// detected, even a stray write that destroys the slot in the same way again. Returns false if the slot has changed
// since `found` was read.
bool retag_damaged(LedgerPage& page, std::size_t slot, SlotOwner& found, const ProcessIdentity& by) noexcept;
bool is_owned_by(const LedgerPage& page, std::size_t slot, const ProcessIdentity& who, std::uint64_t tag) noexcept;
std::uint64_t tag_of(const ProcessIdentity& who, std::size_t slot) noexcept;

// Returns the larger of the two copies (they differ while their process changes them), or nothing if both are
// invalid.
std::optional<LedgerAmount> read_amount(const LedgerPage& page, std::size_t slot, PlaceId place) noexcept;
void write_amount(LedgerPage& page, std::size_t slot, PlaceId place, const LedgerAmount& amount) noexcept;
bool holds_amount(const LedgerPage& page, std::size_t slot, PlaceId place, const LedgerAmount& amount) noexcept;

// Returns the demand; a damaged one reads as weight 0.
LedgerDemand read_demand(const LedgerPage& page, std::size_t slot, PlaceId place) noexcept;
void write_demand(LedgerPage& page, std::size_t slot, PlaceId place, const LedgerDemand& demand) noexcept;
inline bool may_have_demand(const LedgerPage& page, std::size_t slot, PlaceId place) noexcept {
  return load(page.demands[slot][place].weight) != 0;
}

// Writes the record of the slot's owner, which `tag` identifies. Requires: the record fits its kind.
void write_record(LedgerPage& page, std::size_t slot, std::uint64_t tag, LedgerRecordKind kind,
                  std::span<const std::byte> record) noexcept;
// Copies the record of that owner to `to`. Returns its size in bytes; nothing if the owner has published none, if
// a stray write destroyed it, or if it exceeds `to`.
std::optional<std::size_t> read_record(const LedgerPage& page, std::size_t slot, std::uint64_t tag,
                                       LedgerRecordKind kind, std::span<std::byte> to) noexcept;

std::uint64_t checksum_of(const LedgerDescription& description) noexcept;

}  // namespace terrace::memory
