// Places the charges of NPB MG before its first iteration. Source: RNR-94-007, section 2.3.2: every point of the
// interior draws a random number, in the order of storage.
#include "mg/charges.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include "common/npb.hpp"

namespace mg {
namespace {

constexpr std::size_t k_charges = 10;  // of each sign

/// The k_charges random numbers that come first under `Before`, held as a heap with the weakest on top.
template <typename Before>
class Extremes {
 public:
  void offer(const Charge& draw) {
    if (draws_.size() == k_charges) {
      if (!before(draw, draws_.front())) return;
      std::pop_heap(draws_.begin(), draws_.end(), before);
      draws_.pop_back();
    }
    draws_.push_back(draw);
    std::push_heap(draws_.begin(), draws_.end(), before);
  }
  const std::vector<Charge>& draws() const { return draws_; }

 private:
  static bool before(const Charge& x, const Charge& y) { return Before{}(x.value, y.value); }

  std::vector<Charge> draws_;
};

/// Sets the point of a charge, and the ghosts that are its periodic images.
void set(Grid v, const Charge& at) {
  const int side = v.n - 2;
  for (const int i3 : {at.i3 - side, at.i3, at.i3 + side}) {
    for (const int i2 : {at.i2 - side, at.i2, at.i2 + side}) {
      for (const int i1 : {at.i1 - side, at.i1, at.i1 + side}) {
        if (std::min({i3, i2, i1}) >= 0 && std::max({i3, i2, i1}) < v.n) v.line(i3, i2)[i1] = at.value;
      }
    }
  }
}

}  // namespace

[[gnu::noinline]] std::vector<Charge> draw_charges(int side) {
  workloads::NpbRandom random;
  Extremes<std::greater<>> largest;
  Extremes<std::less<>> smallest;
  for (int i3 = 1; i3 <= side; ++i3) {
    for (int i2 = 1; i2 <= side; ++i2) {
      for (int i1 = 1; i1 <= side; ++i1) {
        const Charge draw{random.next(), i3, i2, i1};
        largest.offer(draw);
        smallest.offer(draw);
      }
    }
  }
  std::vector<Charge> charges;
  for (const Charge& at : smallest.draws()) charges.push_back({-1.0, at.i3, at.i2, at.i1});
  for (const Charge& at : largest.draws()) charges.push_back({1.0, at.i3, at.i2, at.i1});
  return charges;
}

[[gnu::noinline]] void zran3(Grid v) {
  const std::vector<Charge> charges = draw_charges(v.n - 2);
  fill_zero(v);
  for (const Charge& charge : charges) set(v, charge);
}

}  // namespace mg
