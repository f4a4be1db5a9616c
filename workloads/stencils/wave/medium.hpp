// Solves, for the program wave, u_tt = c^2 (u_xx + u_yy + u_zz) in a square or a cube of side 1 with u = 0 at its
// sides: of eighth order in space, of second order in time.
//
// Points are at the centres of cells. Beyond a side is the mirror image with the opposite sign, so that u is 0
// halfway between the side's point and its image.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "workloads/stencils/axes.hpp"

namespace terrace::stencil::programs::wave {

inline constexpr std::ptrdiff_t k_reach = 4;
// Coefficients of the second difference of eighth order, from the middle outwards: B. Fornberg, Mathematics of
// Computation 51, 1988, table 1.
inline constexpr std::array<double, k_reach + 1> k_weights{-205. / 72, 8. / 5, -1. / 5, 8. / 315, -1. / 560};

// Without the middle.
template <std::size_t Axis, class Field>
[[nodiscard]] double neighbours(const Field& f) {
  return k_weights[1] * (at<Axis>(f, 1) + at<Axis>(f, -1)) + k_weights[2] * (at<Axis>(f, 2) + at<Axis>(f, -2)) +
         k_weights[3] * (at<Axis>(f, 3) + at<Axis>(f, -3)) + k_weights[4] * (at<Axis>(f, 4) + at<Axis>(f, -4));
}

// Returns the eigenvalue of the second difference for a wave of this phase per point, times -h^2.
[[nodiscard]] inline double symbol(double angle) {
  auto sum = -k_weights[0];
  for (std::size_t r = 1; r < k_weights.size(); ++r)
    sum -= 2 * k_weights[r] * std::cos(static_cast<double>(r) * angle);
  return sum;
}

template <std::size_t Dims>
class Medium {
 public:
  // Points in each direction.
  Medium(Context& context, std::int64_t cells)
      : grid_(context.block("medium", std::vector<std::ptrdiff_t>(Dims, cells))) {
    Halo around;
    for (std::size_t d = 0; d < Dims; ++d) {
      around.low[d] = -k_reach;
      around.high[d] = k_reach;
    }
    now_ = grid_.dataset<double>("u", around);
    previous_ = grid_.dataset<double>("previous", around);
    model_ = grid_.dataset<double>("model");
  }

  [[nodiscard]] const Block& grid() const { return grid_; }
  [[nodiscard]] const Range& inner() const { return grid_.range(); }
  [[nodiscard]] const Dataset<double>& now() const { return now_; }
  [[nodiscard]] const Dataset<double>& previous() const { return previous_; }

  // Courant number by the last coordinate: distance of a wave in a step, in cells.
  void set_model(const Line<double, Dims - 1>& courant) {
    grid_.loop(
        "model", inner(), [](auto model, auto c) { model() = c() * c(); }, write(model_), read(courant));
  }

  void step() {
    mirror<0>();
    mirror<1>();
    if constexpr (Dims == 3) mirror<2>();
    grid_.loop(
        "step", inner(),
        [](auto next, auto u, auto model) {
          auto difference = static_cast<double>(Dims) * k_weights[0] * u() + neighbours<0>(u) + neighbours<1>(u);
          if constexpr (Dims == 3) difference += neighbours<2>(u);
          next() = 2 * u() - next() + model() * difference;
        },
        read_write(previous_), read(now_, star(Dims, k_reach)), read(model_));
    std::swap(now_, previous_);
  }

  // Contribution of a source to a point in the last step.
  void add(const Point& point, double amount) {
    auto one = Range::from_to(point, point);
    for (auto& end : one.end) ++end;
    grid_.loop(
        "source", one, [amount](auto u) { u() += amount; }, increment(now_));
  }

 private:
  template <std::size_t Axis>
  void mirror() {
    for (const auto& layers : MirrorLayers::of(inner(), Axis, k_reach))
      grid_.loop(
          layers.name, layers.range,
          [side = layers.side](auto u, auto point) { u() = -at<Axis>(u, MirrorLayers::image(side, point[Axis])); },
          read_write(now_, layers.stencil), index());
  }

  Block grid_;
  Dataset<double> now_, previous_, model_;
};

}  // namespace terrace::stencil::programs::wave
