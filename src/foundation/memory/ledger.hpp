// The account of one job on one node: who holds how much of which place, against the budget. It is in shared
// memory, so that the processes of a job see one account; each process writes its own slot only, and a slot
// whose process has died counts for nothing. In this process's own accounts nothing is ever over budget.
//
// Who asks for room announces it in its slot first, then adds up what all hold, its own announcement included, and
// takes it back where the sum is above the budget. Of two that ask at the same time, the one that adds up later
// sees the other: never is more handed out than there is, whoever dies, stops or scribbles at whatever point. The
// page's lock only keeps two from refusing each other. An amount that a stray write has destroyed counts as all
// that there is, until its process has written it again or is dead.
//
// A process that has stated a demand may always take what is free up to its share (ledger/division.hpp). Beyond
// its share, or without a demand, it may take what is free beyond the shares that others have stated a demand for
// and not used yet. Without demands, who comes first is served first.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/units.hpp"
#include "machine/machine.hpp"
#include "memory/ledger/own_slot.hpp"
#include "memory/ledger/page.hpp"

namespace terrace::memory {

struct LedgerSettings {
  std::vector<Bytes> granules{};       // by place; those without an entry have pages
  void (*say)(const char*) = nullptr;  // one line, once a job: that the page was overwritten
};

class Ledger {
 public:
  // `page` may be shared with other processes, or private; the budget is indexed by place. A page has one Ledger a
  // process. Throws Error.
  Ledger(LedgerPage& page, machine::Budget budget, LedgerSettings settings = {});
  // Takes `size` bytes of the place if the budget allows, and the shares of the others; false and nothing taken
  // otherwise.
  bool take(PlaceId place, Bytes size);
  void give(PlaceId place, Bytes size);

  // Ordered spill: takes bytes that are to be populated from what the system has free. `free` is asked after the
  // announcement, and has to cover what all have reserved and not yet populated.
  struct FreeMemory {
    Bytes (*of)(void* context, PlaceId place);
    void* context;
  };
  bool reserve(PlaceId place, Bytes size, const FreeMemory& free);
  // They are, or will not be; they stay held.
  void populated(PlaceId place, Bytes size);

  // What this process would like to have; again whenever that changes. Weight 0 takes the demand back.
  void state(PlaceId place, const LedgerDemand& demand);
  // Of this process; the whole budget where it has stated no demand.
  [[nodiscard]] Bytes share(PlaceId place) const;

  [[nodiscard]] Bytes held(PlaceId place) const;  // by all processes of the job
  [[nodiscard]] Bytes held_by_others(PlaceId place) const;
  [[nodiscard]] Bytes outstanding(PlaceId place) const;  // of all: reserved, not yet populated
  [[nodiscard]] Bytes budget(PlaceId place) const { return budget_.at(place); }
  [[nodiscard]] Bytes available(PlaceId place) const;  // to this process

 private:
  struct Sum;
  struct Shares;
  enum class Look : std::uint8_t { trusting, closely };  // closely: the dead hold nothing

  bool announce(PlaceId place, Bytes size, const FreeMemory* free);
  bool try_to_hold(PlaceId place, const LedgerAmount& wanted, Look look, const FreeMemory* free);
  [[nodiscard]] Sum of_others(PlaceId place, Look look) const noexcept;
  [[nodiscard]] std::uint64_t room(PlaceId place, const Sum& others) const noexcept;
  [[nodiscard]] Shares shares(PlaceId place) const noexcept;
  void free_dead() noexcept;
  bool prepare(PlaceId place) noexcept;
  void say_damaged() noexcept;

  LedgerPage& page_;
  machine::Budget budget_;
  LedgerSettings settings_;
  OwnSlot slot_;
  bool has_said_ = false;
};

}  // namespace terrace::memory
