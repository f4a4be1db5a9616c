// SPDX-License-Identifier: Apache-2.0
// Implements the SIMD version of the shortest-path computation of the relaxation (relaxation.hpp): up to four
// items of a domain with two places, one item per lane. Each lane does the operations of Relaxation::path_costs<2>
// in the same order, so that bounds agree to the last bit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "model/problem.hpp"

namespace terrace::model {

inline constexpr double k_never = std::numeric_limits<double>::infinity();  // cost of an impossible path

// Vector of doubles, one lane for each item of a bundle.
struct Lanes {
  using Half = double __attribute__((vector_size(16)));
  static constexpr std::size_t k_count = 4;
  std::array<Half, 2> half;

  [[nodiscard]] double operator[](std::size_t lane) const { return half[lane / 2][lane % 2]; }
  void set(std::size_t lane, double value) { half[lane / 2][lane % 2] = value; }
  static Lanes all(double value) { return {{Half{value, value}, Half{value, value}}}; }
};

// Mask of booleans, one lane for each item of a bundle.
struct LaneMask {
  using Half = long long __attribute__((vector_size(16)));
  std::array<Half, 2> half;

  [[nodiscard]] bool operator[](std::size_t lane) const { return half[lane / 2][lane % 2] != 0; }
  void set(std::size_t lane) { half[lane / 2][lane % 2] = -1; }
  static LaneMask none() { return {{Half{0, 0}, Half{0, 0}}}; }
};

inline Lanes operator+(const Lanes& x, const Lanes& y) { return {{x.half[0] + y.half[0], x.half[1] + y.half[1]}}; }
inline Lanes operator*(const Lanes& x, const Lanes& y) { return {{x.half[0] * y.half[0], x.half[1] * y.half[1]}}; }
inline Lanes operator*(double x, const Lanes& y) { return Lanes::all(x) * y; }
inline LaneMask operator<(const Lanes& x, const Lanes& y) {
  return {{x.half[0] < y.half[0], x.half[1] < y.half[1]}};
}

inline Lanes select(const LaneMask& mask, const Lanes& yes, const Lanes& no) {
  return {{mask.half[0] ? yes.half[0] : no.half[0], mask.half[1] ? yes.half[1] : no.half[1]}};
}

inline Lanes lane_min(const Lanes& x, const Lanes& y) { return select(y < x, y, x); }

class ItemBundle {
 public:
  // Lagrangian prices of one phase. Indices are places.
  struct Step {
    double core = 0;                                   // of a second of the core
    double mover = 0;                                  // of a second of the mover
    std::array<double, 2> second{};                    // of a second of the place's bandwidth
    std::array<double, 2> route{};                     // of copying a byte from this place to the other
    std::array<double, 2> hold{};                      // of a byte of the place's capacity
    std::array<std::array<double, 2>, 2> untouched{};  // [from][to], of a byte without accesses in the phase
  };
  // Time of an item's traffic in a phase from one place, in seconds of each row. Prefetched lines have parts of
  // their own, because both of these must be charged to the same place.
  struct Load {
    double exposed = 0;
    double reading = 0;
    double writing = 0;
    double streamed_exposed = 0;
    double streamed_reading = 0;
  };
  // How each state was reached, for one bundle at a time.
  struct Paths {
    std::vector<std::array<std::array<LaneMask, 2>, 2>> from_second;  // [phase][start][end]
    std::vector<std::array<LaneMask, 2>> stop_elsewhere;              // [touch][place]: a round trip beats staying
  };
  using Costs = std::array<std::array<Lanes, 2>, 2>;  // [where the iteration begins][where it ends]

  ItemBundle(std::uint32_t first, DomainId domain) : first_(first), domain_(domain) {}

  // Requires: fewer than Lanes::k_count items so far; the item follows the last one.
  void add(const Item& item);
  // Requires: phases ascend; `item` is one of the bundle, at most once a phase.
  void add_loads(std::uint32_t item, std::uint32_t phase, const std::array<Load, 2>& loads);

  [[nodiscard]] std::uint32_t first() const { return first_; }
  [[nodiscard]] DomainId domain() const { return domain_; }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::size_t num_touches() const { return touches_.size(); }
  [[nodiscard]] std::uint32_t phase_of(std::size_t touch) const { return touches_[touch].phase; }
  [[nodiscard]] bool touches(std::size_t touch, std::size_t lane) const { return touches_[touch].touched[lane]; }
  [[nodiscard]] Load load(std::size_t touch, std::size_t lane, std::size_t place) const;

  // Returns the costs of all lanes' shortest paths through the phases, by first and last place; fills `paths`
  // for backtracking. Without `from_each_start` the first place is free and only costs[0] is valid. `steps`: by
  // phase.
  Costs shortest_paths(const std::vector<Step>& steps, bool from_each_start, Paths& paths) const;

 private:
  struct Touch {
    std::uint32_t phase = 0;
    LaneMask touched = LaneMask::none();
    std::array<std::array<Lanes, 5>, 2> loads{};  // [place][part]
  };

  std::uint32_t first_;
  DomainId domain_;
  std::size_t count_ = 0;
  Lanes size_ = Lanes::all(0), remapping_ = Lanes::all(0), stall_ = Lanes::all(0);
  std::vector<Touch> touches_;
};

}  // namespace terrace::model
