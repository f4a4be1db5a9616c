// The slot that this process writes, and what it knows itself of what it holds: a stray write into the page cannot
// change that, and is put right by it.
#pragma once

#include <array>
#include <atomic>

#include "memory/ledger/page.hpp"

namespace terrace::memory {

class OwnSlot {
 public:
  // Takes part. Throws Error{failed} where as many processes as there are slots live, Error{no_memory}.
  explicit OwnSlot(LedgerPage& page);
  // What is held is free again.
  ~OwnSlot();
  OwnSlot(const OwnSlot&) = delete;
  OwnSlot& operator=(const OwnSlot&) = delete;

  // Between the threads of this process. A forked child gets it free, whoever had it.
  class Turn {
   public:
    explicit Turn(OwnSlot& slot) noexcept;
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    std::uint32_t* word_;
  };

  // Before each change: a forked child begins an account of its own, a damaged slot is repaired.
  enum class State : std::uint8_t { whole, repaired, none };  // none: no slot is free, nothing can be changed
  State prepare(PlaceId place) noexcept;

  // A forked child that has not changed anything yet: nothing is its own.
  [[nodiscard]] bool is_inherited() const noexcept;
  [[nodiscard]] const ProcessIdentity& who() const noexcept { return who_; }
  [[nodiscard]] std::uint64_t page_since() const noexcept { return since_; }
  [[nodiscard]] std::size_t index() const noexcept { return is_inherited() ? k_ledger_slots : index_; }
  [[nodiscard]] LedgerAmount amount(PlaceId place) const noexcept;
  [[nodiscard]] const LedgerDemand& demand(PlaceId place) const noexcept { return demands_[place]; }
  void write(PlaceId place, const LedgerAmount& amount) noexcept;
  void write(PlaceId place, const LedgerDemand& demand) noexcept;

 private:
  struct Mark;  // in memory that a forked child finds empty
  struct Held {
    std::atomic<std::uint64_t> held{0}, outstanding{0};
  };

  [[nodiscard]] bool join() noexcept;
  [[nodiscard]] bool claim_slot() noexcept;
  [[nodiscard]] State repair_owner() noexcept;
  [[nodiscard]] bool repair_account(PlaceId place) noexcept;
  void write_all() noexcept;

  LedgerPage& page_;
  Mark* mark_;
  bool wiped_ = false;  // by fork
  ProcessIdentity who_;
  std::uint64_t since_;  // of the page, as it said when this process first saw it
  std::size_t index_ = 0;
  std::uint64_t tag_ = 0;
  PlaceId looked_at_ = 0;
  std::array<Held, k_ledger_places> held_;
  std::array<LedgerDemand, k_ledger_places> demands_;
};

}  // namespace terrace::memory
