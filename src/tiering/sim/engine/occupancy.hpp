// How busy each place is, over time: what threads (and copies) that run at the same time leave to one another.
//
// Threads are priced quantum by quantum, each on its own clock, and the one that is priced first may be ahead of
// the next in time. So a place's time is a row of slots; whoever comes takes what is left of the slots that it
// passes through, also of those that are behind what another has taken already. A slot is never taken for more
// than all of it.
//
// What is further back than the row is long counts as free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units.hpp"

namespace terrace::sim {

class Occupancy {
 public:
  static constexpr double k_slot = 4e-6;                        // seconds
  static constexpr std::size_t k_slots = std::size_t{1} << 14;  // that are remembered

  explicit Occupancy(std::size_t places) : places_(places), row_(places * k_slots, 0.0) {}

  // The slot at `time`, ready to be asked for and taken from; and when it ends.
  struct Slot {
    std::int64_t number = 0;
    double end = 0;
  };
  [[nodiscard]] Slot at(Seconds time);
  // The share of the rest of the slot, from `time` on, that a place is still free for: 0 to 1.
  [[nodiscard]] double free_share(const Slot& slot, Seconds time, std::size_t place) const;
  void take(const Slot& slot, std::size_t place, double seconds);

 private:
  std::size_t places_;
  std::int64_t newest_ = 0;
  std::vector<double> row_;  // seconds taken, by slot modulo k_slots and place
};

}  // namespace terrace::sim
