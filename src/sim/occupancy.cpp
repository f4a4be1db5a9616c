// Rows of slots. See occupancy.hpp.
#include "sim/occupancy.hpp"

#include <algorithm>

namespace terrace::sim {

Occupancy::Slot Occupancy::at(Seconds time) {
  auto number = static_cast<std::int64_t>(time.value / k_slot);
  if (static_cast<double>(number + 1) * k_slot <= time.value) ++number;  // by rounding, time was on the slot's end
  constexpr auto k_row = static_cast<std::int64_t>(k_slots);
  if (number > newest_) {
    // What the new slots lie on is as old as the row is long.
    for (auto fresh = std::max(newest_ + 1, number - k_row + 1); fresh <= number; ++fresh)
      std::fill_n(row_.begin() + (fresh % k_row) * static_cast<std::int64_t>(places_), places_, 0.0);
    newest_ = number;
  }
  return {number, static_cast<double>(number + 1) * k_slot};
}

double Occupancy::free_share(const Slot& slot, Seconds time, std::size_t place) const {
  constexpr auto k_row = static_cast<std::int64_t>(k_slots);
  if (newest_ - slot.number >= k_row) return 1;
  const auto taken = row_[static_cast<std::size_t>(slot.number % k_row) * places_ + place];
  return std::clamp((k_slot - taken) / (slot.end - time.value), 0.0, 1.0);
}

void Occupancy::take(const Slot& slot, std::size_t place, double seconds) {
  constexpr auto k_row = static_cast<std::int64_t>(k_slots);
  if (newest_ - slot.number >= k_row) return;
  row_[static_cast<std::size_t>(slot.number % k_row) * places_ + place] += seconds;
}

}  // namespace terrace::sim
