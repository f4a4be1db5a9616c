// SPDX-License-Identifier: Apache-2.0
// Manages the slot of a ledger that this process writes, for Ledger. It keeps private copies of the amounts and
// demands: stray writes (by wrong pointers of a program) into the shared page cannot change these, and the slot is
// repaired from them.
#pragma once

#include <array>
#include <atomic>

#include "memory/ledger/page.hpp"

namespace terrace::memory {

class OwnSlot {
 public:
  // Claims a slot. Throws Error{failed} if as many processes are alive as there are slots, Error{no_memory}.
  explicit OwnSlot(LedgerPage& page);
  // Frees the slot, and with it all that is held.
  ~OwnSlot();
  OwnSlot(const OwnSlot&) = delete;
  OwnSlot& operator=(const OwnSlot&) = delete;

  // Excludes the other threads of this process. In a forked child the lock is free, whichever thread held it.
  class ScopedLock {
   public:
    explicit ScopedLock(OwnSlot& slot) noexcept;
    ~ScopedLock();
    ScopedLock(const ScopedLock&) = delete;
    ScopedLock& operator=(const ScopedLock&) = delete;

   private:
    std::uint32_t* word_;
  };

  // Must be called before each change: claims a slot of its own for a forked child, and repairs a damaged slot.
  enum class State : std::uint8_t { whole, repaired, none };  // none: no slot is free, so nothing can be changed
  State prepare(PlaceId place) noexcept;

  // Returns whether this is a forked child that has not changed anything yet: the slot is its parent's.
  [[nodiscard]] bool is_inherited() const noexcept;
  [[nodiscard]] const ProcessIdentity& identity() const noexcept { return identity_; }
  [[nodiscard]] std::uint64_t page_creation_time() const noexcept { return page_creation_time_; }
  [[nodiscard]] std::size_t index() const noexcept { return is_inherited() ? k_ledger_slots : index_; }
  [[nodiscard]] LedgerAmount amount(PlaceId place) const noexcept;
  [[nodiscard]] const LedgerDemand& demand(PlaceId place) const noexcept { return demands_[place]; }
  void write(PlaceId place, const LedgerAmount& amount) noexcept;
  void write(PlaceId place, const LedgerDemand& demand) noexcept;
  void write(LedgerRecordKind kind, std::span<const std::byte> record) noexcept {
    write_record(page_, index_, tag_, kind, record);
  }

 private:
  struct ForkLocal;  // in memory that is zeroed in a forked child (MADV_WIPEONFORK)
  struct AtomicAmount {
    std::atomic<std::uint64_t> held{0}, outstanding{0};
  };

  [[nodiscard]] bool join() noexcept;
  [[nodiscard]] bool try_claim_slot() noexcept;
  [[nodiscard]] State repair_owner() noexcept;
  [[nodiscard]] bool repair_place(PlaceId place) noexcept;
  void write_all() noexcept;

  LedgerPage& page_;
  ForkLocal* fork_local_;
  bool is_wiped_on_fork_ = false;  // false: the kernel lacks MADV_WIPEONFORK
  ProcessIdentity identity_;
  std::uint64_t page_creation_time_;  // creation time of the page, as read when this process joined
  std::size_t index_ = 0;
  std::uint64_t tag_ = 0;
  PlaceId next_checked_ = 0;
  std::array<AtomicAmount, k_ledger_places> amounts_;
  std::array<LedgerDemand, k_ledger_places> demands_;
};

}  // namespace terrace::memory
