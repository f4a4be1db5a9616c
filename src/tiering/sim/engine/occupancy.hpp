// SPDX-License-Identifier: Apache-2.0
// Tracks how busy each place (memory) is over time, so that threads and copies that run concurrently share its
// bandwidth. VirtualMachine uses it for programs with several threads.
//
// VirtualMachine computes the time of one quantum (a batch of one thread's accesses) after the other, each thread
// on its own clock, so the thread whose quantum comes first may be ahead of the next in time. A place's time is
// therefore a ring of slots. Each user takes what is left of the slots that it passes through, also of those that
// lie before slots that another user has already taken. A slot is never taken for more than its length. Slots
// older than the ring count as free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units.hpp"

namespace terrace::sim {

class Occupancy {
 public:
  static constexpr double k_slot = 4e-6;                        // seconds
  static constexpr std::size_t k_slots = std::size_t{1} << 14;  // in the ring

  explicit Occupancy(std::size_t places) : places_(places), row_(places * k_slots, 0.0) {}

  // The slot that contains a time, and its end.
  struct Slot {
    std::int64_t number = 0;
    double end = 0;
  };
  // Returns the slot at `time`, and recycles slots that have become older than the ring.
  [[nodiscard]] Slot slot_at(Seconds time);
  // Returns the share of the rest of the slot, from `time` on, for which a place is still free: 0 to 1.
  [[nodiscard]] double free_share(const Slot& slot, Seconds time, std::size_t place) const;
  // Takes `seconds` of the place's time in the slot.
  void occupy(const Slot& slot, std::size_t place, double seconds);

 private:
  std::size_t places_;
  std::int64_t newest_ = 0;
  std::vector<double> row_;  // seconds taken, by slot modulo k_slots and place
};

}  // namespace terrace::sim
