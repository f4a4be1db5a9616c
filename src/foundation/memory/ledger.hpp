// SPDX-License-Identifier: Apache-2.0
// Accounts for the memory of one job on one node: how many bytes each process holds in each place, against a
// budget. The runtime, heaps and movers charge what they place. The accounts lie in a shared page, so that all
// processes of a job see them. Each process writes its own slot only, and the slot of a dead process counts as
// empty. A process without a job has a private page.
//
// Invariant: the sum of all amounts held in a place never exceeds its budget. This holds whichever process dies,
// is stopped or writes stray data into the page, and at whatever point. Protocol of an acquisition:
//
//   1. The process announces the new amount in its slot.
//   2. It sums the amounts of all slots, its own announcement included.
//   3. If the sum exceeds the budget, it withdraws the announcement and fails.
//
// Of two processes that acquire concurrently, the one that sums later sees the other's announcement. The lock in
// the page (ledger/page_lock.hpp) is not needed for this; it only keeps the two from refusing each other. An
// amount that a stray write destroyed counts as the whole budget until its process has rewritten it or is dead.
//
// A process that has stated a demand may always take free memory up to its share (ledger/division.hpp). Beyond its
// share, or without a demand, it may take what is free beyond the unused shares of the others. Without any
// demands, memory is served first come, first served.
//
// Thread-safe. Must not allocate after construction: the callers are allocators.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/units.hpp"
#include "machine/machine.hpp"
#include "memory/ledger/own_slot.hpp"
#include "memory/ledger/page.hpp"

namespace terrace::memory {

struct LedgerSettings {
  std::vector<Bytes> granules{};       // by place; places without an entry have pages of 4 KiB
  void (*say)(const char*) = nullptr;  // prints one line, once a job, if the page was overwritten
};

class Ledger {
 public:
  // Claims a slot in `page`, which may be shared or private and must outlive the ledger. The budget is indexed by
  // place. Requires: at most one Ledger a page in each process. Throws Error.
  Ledger(LedgerPage& page, machine::Budget budget, LedgerSettings settings = {});
  // Acquires `size` bytes of the place. Returns false, and changes nothing, if the budget or the shares of other
  // processes do not allow it.
  bool take(PlaceId place, Bytes size);
  // Releases `size` bytes, at most as many as are held.
  void give(PlaceId place, Bytes size);

  // Reports the bytes that the system has free in a place.
  struct FreeMemory {
    Bytes (*of)(void* context, PlaceId place);
    void* context;
  };
  // Acquires bytes that the caller is about to populate (ordered fill). In addition to the budget, the free
  // memory must cover what all processes have reserved and not yet populated; `free` is read after the
  // announcement.
  bool reserve(PlaceId place, Bytes size, const FreeMemory& free);
  // Ends a reservation: its pages are populated, or will not be. The bytes stay held.
  void commit_reserved(PlaceId place, Bytes size);

  // States this process's demand, again whenever it changes. Weight 0 withdraws it.
  void set_demand(PlaceId place, const LedgerDemand& demand);
  // Returns this process's share, or the whole budget if it has stated no demand.
  [[nodiscard]] Bytes share(PlaceId place) const;

  [[nodiscard]] Bytes held(PlaceId place) const;  // by all processes of the job
  [[nodiscard]] Bytes held_by_others(PlaceId place) const;
  [[nodiscard]] Bytes held_by_self(PlaceId place) const;  // by this process
  [[nodiscard]] Bytes outstanding(PlaceId place) const;   // by all: reserved, not yet populated
  [[nodiscard]] Bytes budget(PlaceId place) const { return budget_.at(place); }
  [[nodiscard]] Bytes available(PlaceId place) const;  // to this process

  // Processes of a job exchange records through the page, such as the gains that their demands rest on. Publishes
  // this process's record, which replaces the one before of that kind. Requires: record.size() <= 8 *
  // k_ledger_record_words[kind].
  void publish(LedgerRecordKind kind, std::span<const std::byte> record);
  struct Peer {
    std::size_t slot = 0;
    ProcessIdentity process;
  };
  // Returns the other processes of the job, in order of their slots, and skips dead ones. Without
  // `thorough`, zombies and dead processes whose number was reused may be among them; with it, each process takes
  // some 20 us.
  [[nodiscard]] std::vector<Peer> peers(bool thorough) const;
  // Copies a process's record to `to` and returns its size in bytes; nothing if it is absent or damaged.
  std::optional<std::size_t> read_record(const Peer& peer, LedgerRecordKind kind, std::span<std::byte> to) const;
  [[nodiscard]] Bytes held_by(const Peer& peer, PlaceId place) const;
  [[nodiscard]] std::size_t own_slot() const { return slot_.index(); }

 private:
  struct Sum;
  struct Shares;
  enum class LivenessCheck : std::uint8_t { assume_alive, skip_dead };  // skip_dead: ignore slots of the dead

  bool announce(PlaceId place, Bytes size, const FreeMemory* free);
  bool try_acquire(PlaceId place, const LedgerAmount& target, LivenessCheck liveness, const FreeMemory* free);
  [[nodiscard]] Sum sum_of_others(PlaceId place, LivenessCheck liveness) const noexcept;
  [[nodiscard]] std::uint64_t available_to_this_process(PlaceId place, const Sum& others) const noexcept;
  [[nodiscard]] Shares shares(PlaceId place) const noexcept;
  void reclaim_dead_slots() noexcept;
  bool prepare(PlaceId place) noexcept;
  void report_damage() noexcept;

  LedgerPage& page_;
  machine::Budget budget_;
  LedgerSettings settings_;
  OwnSlot slot_;
  bool has_reported_damage_ = false;
};

}  // namespace terrace::memory
