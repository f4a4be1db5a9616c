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

struct Draw {
  double value;
  int i3, i2, i1;
};

/// The k_charges draws that come first under `Before`, held as a heap with the weakest on top.
template <typename Before>
class Extremes {
 public:
  void offer(const Draw& draw) {
    if (draws_.size() == k_charges) {
      if (!before(draw, draws_.front())) return;
      std::pop_heap(draws_.begin(), draws_.end(), before);
      draws_.pop_back();
    }
    draws_.push_back(draw);
    std::push_heap(draws_.begin(), draws_.end(), before);
  }
  const std::vector<Draw>& draws() const { return draws_; }

 private:
  static bool before(const Draw& x, const Draw& y) { return Before{}(x.value, y.value); }

  std::vector<Draw> draws_;
};

/// Sets the point to `charge`, and the ghosts that are its periodic images.
void set(Grid v, const Draw& at, double charge) {
  const int side = v.n - 2;
  for (const int i3 : {at.i3 - side, at.i3, at.i3 + side}) {
    for (const int i2 : {at.i2 - side, at.i2, at.i2 + side}) {
      for (const int i1 : {at.i1 - side, at.i1, at.i1 + side}) {
        if (std::min({i3, i2, i1}) >= 0 && std::max({i3, i2, i1}) < v.n) v.line(i3, i2)[i1] = charge;
      }
    }
  }
}

}  // namespace

[[gnu::noinline]] void zran3(Grid v) {
  workloads::NpbRandom random;
  Extremes<std::greater<>> largest;
  Extremes<std::less<>> smallest;
  for (int i3 = 1; i3 < v.n - 1; ++i3) {
    for (int i2 = 1; i2 < v.n - 1; ++i2) {
      for (int i1 = 1; i1 < v.n - 1; ++i1) {
        const Draw draw{random.next(), i3, i2, i1};
        largest.offer(draw);
        smallest.offer(draw);
      }
    }
  }
  fill_zero(v);
  for (const Draw& draw : smallest.draws()) set(v, draw, -1.0);
  for (const Draw& draw : largest.draws()) set(v, draw, 1.0);
}

}  // namespace mg
