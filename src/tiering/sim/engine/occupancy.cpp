// SPDX-License-Identifier: Apache-2.0
// Maintains the time slots in which VirtualMachine records how much of each place's bandwidth the program's
// threads and copies have taken. See occupancy.hpp.
#include "sim/engine/occupancy.hpp"

#include <algorithm>
#include <limits>

namespace terrace::sim {

Occupancy::Slot Occupancy::slot_at(Seconds time) {
  // At times so late (a program may sleep for ages) that doubles cannot distinguish slots, a slot extends to the
  // next representable time.
  constexpr double k_last = 0x1p60;
  auto number = static_cast<std::int64_t>(std::min(time.value / k_slot, k_last));
  if (static_cast<double>(number + 1) * k_slot <= time.value) ++number;  // rounding put `time` on the slot's end
  constexpr auto k_row = static_cast<std::int64_t>(k_slots);
  if (number > newest_) {
    // The new slots reuse entries that are older than the ring.
    for (auto fresh = std::max(newest_ + 1, number - k_row + 1); fresh <= number; ++fresh)
      std::fill_n(row_.begin() + (fresh % k_row) * static_cast<std::int64_t>(places_), places_, 0.0);
    newest_ = number;
  }
  const auto next_time = time.value * (1 + std::numeric_limits<double>::epsilon());
  return {number, std::max(static_cast<double>(number + 1) * k_slot, next_time)};
}

double Occupancy::free_share(const Slot& slot, Seconds time, std::size_t place) const {
  constexpr auto k_row = static_cast<std::int64_t>(k_slots);
  if (newest_ - slot.number >= k_row) return 1;
  const auto taken = row_[static_cast<std::size_t>(slot.number % k_row) * places_ + place];
  return std::clamp((k_slot - taken) / (slot.end - time.value), 0.0, 1.0);
}

void Occupancy::occupy(const Slot& slot, std::size_t place, double seconds) {
  constexpr auto k_row = static_cast<std::int64_t>(k_slots);
  if (newest_ - slot.number >= k_row) return;
  row_[static_cast<std::size_t>(slot.number % k_row) * places_ + place] += seconds;
}

}  // namespace terrace::sim
