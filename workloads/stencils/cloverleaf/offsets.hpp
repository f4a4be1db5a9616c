// Helps CloverLeaf's kernels to be generic in the direction: elements along it, sums over the corners of a cell's
// faces. The order of sums is part of the scheme: long runs amplify rounding differences.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "terrace/stencil.hpp"

namespace terrace::stencil::programs::cloverleaf {

// An order of directions.
template <std::size_t... Axis>
struct Directions {};

// Returns f at `i` points from its own along the direction.
template <std::size_t Axis>
[[nodiscard]] TERRACE_STENCIL_BOTH double along(const auto& f, std::ptrdiff_t i) {
  return f(Axis == 0 ? i : 0, Axis == 1 ? i : 0, Axis == 2 ? i : 0);
}

// Returns f at i, j, k along the direction and the two others, the lower one first.
template <std::size_t Axis>
[[nodiscard]] TERRACE_STENCIL_BOTH double turned(const auto& f, std::ptrdiff_t i, std::ptrdiff_t j,
                                                 std::ptrdiff_t k) {
  if constexpr (Axis == 0)
    return f(i, j, k);
  else if constexpr (Axis == 1)
    return f(j, i, k);
  else
    return f(j, k, i);
}

// Returns the sum of vertex values over the corners of a cell's face in the direction, low (0) or high (1); for
// several fields in order, strictly from left to right.
template <std::size_t Dims, std::size_t Axis>
[[nodiscard]] TERRACE_STENCIL_BOTH double face_sum(std::ptrdiff_t side, const auto& field, const auto&... others) {
  const auto add_others = [&](double sum, const auto& f) {
    sum += turned<Axis>(f, side, 1, 0);
    if constexpr (Dims == 3) sum = sum + turned<Axis>(f, side, 0, 1) + turned<Axis>(f, side, 1, 1);
    return sum;
  };
  double sum = add_others(turned<Axis>(field, side, 0, 0), field);
  ((sum = add_others(sum + turned<Axis>(others, side, 0, 0), others)), ...);
  return sum;
}
template <std::size_t Dims, std::size_t Axis>
[[nodiscard]] TERRACE_STENCIL_BOTH double low(const auto&... fields) {
  return face_sum<Dims, Axis>(0, fields...);
}
template <std::size_t Dims, std::size_t Axis>
[[nodiscard]] TERRACE_STENCIL_BOTH double high(const auto&... fields) {
  return face_sum<Dims, Axis>(1, fields...);
}
// Returns the difference of the two, in the direction.
template <std::size_t Dims, std::size_t Axis>
[[nodiscard]] TERRACE_STENCIL_BOTH double rise(const auto& field) {
  return high<Dims, Axis>(field) - low<Dims, Axis>(field);
}

// Returns a loop's name with its direction.
[[nodiscard]] inline std::string with_axis(const std::string& name, std::size_t axis) {
  return name + " " + "xyz"[axis];
}

// Returns by value, so that kernels have no branches.
[[nodiscard]] TERRACE_STENCIL_BOTH inline double least(double a, double b) { return b < a ? b : a; }
[[nodiscard]] TERRACE_STENCIL_BOTH inline double most(double a, double b) { return a < b ? b : a; }

// Selects one of two values by a number's sign, in integer arithmetic. A conditional expression would become a
// branch that loads one value, which prevents vectorisation. The sign of 0 does not matter where nothing flows.
class BySign {
 public:
  TERRACE_STENCIL_BOTH explicit BySign(double number)
      : mask_(std::uint64_t{0} - (std::bit_cast<std::uint64_t>(number) >> 63U)) {}
  [[nodiscard]] TERRACE_STENCIL_BOTH double operator()(double if_positive, double if_negative) const {
    return std::bit_cast<double>((std::bit_cast<std::uint64_t>(if_positive) & ~mask_) |
                                 (std::bit_cast<std::uint64_t>(if_negative) & mask_));
  }

 private:
  std::uint64_t mask_;
};

// Stencils: the corners of a cell, from one of its vertices; the cells around a vertex.
[[nodiscard]] inline Stencil corners(std::size_t dims) { return box(dims, 0, 1); }
[[nodiscard]] inline Stencil cells_around(std::size_t dims) { return box(dims, -1, 0); }

// Returns the offsets along a direction, both ends included.
[[nodiscard]] inline Stencil line(std::size_t axis, std::ptrdiff_t from, std::ptrdiff_t to) {
  std::vector<Point> offsets;
  for (auto i = from; i <= to; ++i) {
    Point offset{0, 0, 0};
    offset[axis] = i;
    offsets.push_back(offset);
  }
  return Stencil(std::move(offsets));
}

// Returns the offsets `from` to `to` along the direction, `low_across` to `high_across` in the others.
[[nodiscard]] inline Stencil slab(std::size_t dims, std::size_t axis, std::ptrdiff_t from, std::ptrdiff_t to,
                                  std::ptrdiff_t low_across, std::ptrdiff_t high_across) {
  std::vector<Point> offsets;
  const auto all = box(dims, low_across, high_across);
  for (const auto& offset : all.offsets())
    for (auto i = from; i <= to; ++i)
      if (offset[axis] == low_across) {
        offsets.push_back(offset);
        offsets.back()[axis] = i;
      }
  return Stencil(std::move(offsets));
}

}  // namespace terrace::stencil::programs::cloverleaf
