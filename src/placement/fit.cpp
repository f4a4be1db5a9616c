// Greedy, by worth for a byte. See fit.hpp.
#include "placement/fit.hpp"

#include <algorithm>
#include <numeric>

namespace terrace::placement {
namespace {

// What each place holds in each phase.
class Rooms {
 public:
  Rooms(const machine::Budget& budget, std::uint32_t phases)
      : budget_(budget), phases_(phases), held_(budget.size() * phases, 0) {}

  bool let_in(const Guest& guest) {
    add(guest, guest.size.value);
    const bool fits = std::ranges::all_of(guest.stays, [&](const Stay& stay) {
      return all_phases(stay, [&](std::uint64_t& held) { return held <= budget_[stay.place].value; });
    });
    if (!fits) add(guest, -guest.size.value);
    return fits;
  }

 private:
  template <class Test>
  bool all_phases(const Stay& stay, Test test) {
    auto phase = stay.from;
    do {
      if (!test(held_[stay.place * phases_ + phase])) return false;
      phase = (phase + 1) % phases_;
    } while (phase != stay.until % phases_);
    return true;
  }
  void add(const Guest& guest, std::uint64_t bytes) {  // modulo 2^64, so that it also takes away
    for (const auto& stay : guest.stays)
      all_phases(stay, [&](std::uint64_t& held) {
        held += bytes;
        return true;
      });
  }

  const machine::Budget& budget_;
  std::uint32_t phases_;
  std::vector<std::uint64_t> held_;
};

}  // namespace

std::vector<bool> left_out(const std::vector<Guest>& guests, const machine::Budget& budget, std::uint32_t phases) {
  std::vector<std::size_t> order(guests.size());
  std::iota(order.begin(), order.end(), 0);
  const auto density = [&](std::size_t i) {
    return guests[i].worth.value / static_cast<double>(std::max<std::uint64_t>(guests[i].size.value, 1));
  };
  std::ranges::stable_sort(order, [&](auto a, auto b) { return density(a) > density(b); });
  Rooms rooms(budget, std::max(phases, 1U));
  std::vector<bool> out(guests.size(), false);
  for (const auto i : order) out[i] = !rooms.let_in(guests[i]);
  return out;
}

}  // namespace terrace::placement
