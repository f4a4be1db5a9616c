// The account of one job on one node: who holds how much of which place, against the budget. It is in shared
// memory, so that the processes of a job see one account; each process writes its own slot only, and a slot
// whose process has died counts for nothing. In this process's own accounts nothing is ever over budget.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/units.hpp"
#include "machine/machine.hpp"

namespace terrace::memory {

inline constexpr std::size_t k_ledger_places = 64;
inline constexpr std::size_t k_ledger_slots = 256;

// The shared part; all zero is an empty ledger.
struct LedgerPage {
  std::atomic<std::uint32_t> lock;  // holder's process id, 0 when free: a dead holder's lock is taken over
  struct Slot {
    std::atomic<std::uint32_t> process;
    std::atomic<std::uint64_t> held[k_ledger_places];
  } slots[k_ledger_slots];
};

class Ledger {
 public:
  // `page` may be shared with other processes, or private; the budget is indexed by place.
  Ledger(LedgerPage& page, machine::Budget budget);
  // Takes `size` bytes of the place if the budget allows; false and nothing taken otherwise.
  bool take(PlaceId place, Bytes size);
  void give(PlaceId place, Bytes size);
  [[nodiscard]] Bytes held(PlaceId place) const;  // by all processes of the job
  [[nodiscard]] Bytes budget(PlaceId place) const { return budget_.at(place); }
  [[nodiscard]] Bytes available(PlaceId place) const;

 private:
  LedgerPage& page_;
  machine::Budget budget_;
  std::size_t slot_ = 0;
};

}  // namespace terrace::memory
