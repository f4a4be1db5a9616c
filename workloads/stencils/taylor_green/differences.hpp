// Declares central differences of fourth order on a uniform grid, and their stencils, for taylor_green.
#pragma once

#include <cstddef>
#include <vector>

#include "workloads/stencils/axes.hpp"

namespace terrace::stencil::programs::taylor_green {

// Halo width that the differences need.
inline constexpr std::ptrdiff_t k_reach = 2;

// Factors of first and second differences, for the grid spacing h.
struct Weights {
  double first;   // 1 / (12 h)
  double second;  // 1 / (12 h^2)
  explicit Weights(double distance) : first(1 / (12 * distance)), second(first / distance) {}
};

template <std::size_t Axis, class Field>
[[nodiscard]] double first_difference(const Field& f, const Weights& weights) {
  return weights.first * (8 * (at<Axis>(f, 1) - at<Axis>(f, -1)) - (at<Axis>(f, 2) - at<Axis>(f, -2)));
}

template <std::size_t Axis, class Field>
[[nodiscard]] double second_difference(const Field& f, const Weights& weights) {
  return weights.second *
         (16 * (at<Axis>(f, 1) + at<Axis>(f, -1)) - (at<Axis>(f, 2) + at<Axis>(f, -2)) - 30 * f());
}

template <class Field>
[[nodiscard]] double laplacian(const Field& f, const Weights& weights) {
  return second_difference<0>(f, weights) + second_difference<1>(f, weights) + second_difference<2>(f, weights);
}

// Sums of a velocity at a point and at its neighbours along an axis.
template <std::size_t Axis>
struct Velocities {
  double low2, low1, high1, high2;
  template <class Field>
  explicit Velocities(const Field& u)
      : low2(u() + at<Axis>(u, -2)),
        low1(u() + at<Axis>(u, -1)),
        high1(u() + at<Axis>(u, 1)),
        high2(u() + at<Axis>(u, 2)) {}
};

// Returns the convection of `f` along an axis, half of D(f u) + u D(f) + f D(u), where `slope` is D(u). In this
// split form products of under-resolved waves do not feed the shortest ones, and the sum over a periodic grid
// is 0: G. Blaisdell, E. Spyropoulos, J. Qin, Applied Numerical Mathematics 21, 1996.
template <std::size_t Axis, class Field>
[[nodiscard]] double convection(const Field& f, const Velocities<Axis>& u, double slope, const Weights& weights) {
  return 0.5 * (weights.first * (8 * (at<Axis>(f, 1) * u.high1 - at<Axis>(f, -1) * u.low1) -
                                 (at<Axis>(f, 2) * u.high2 - at<Axis>(f, -2) * u.low2)) +
                f() * slope);
}

// Stencil of a difference along one axis.
[[nodiscard]] inline Stencil along(std::size_t axis) {
  std::vector<Point> offsets;
  for (auto r = -k_reach; r <= k_reach; ++r) {
    Point offset{0, 0, 0};
    offset[axis] = r;
    offsets.push_back(offset);
  }
  return Stencil(std::move(offsets));
}

// Stencil of differences along two axes.
[[nodiscard]] inline Stencil along(std::size_t axis, std::size_t other) {
  auto offsets = along(axis).offsets();
  const auto others = along(other);
  for (const auto& offset : others.offsets())
    if (offset != Point{0, 0, 0}) offsets.push_back(offset);
  return Stencil(std::move(offsets));
}

}  // namespace terrace::stencil::programs::taylor_green
