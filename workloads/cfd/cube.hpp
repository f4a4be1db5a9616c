// Defines the grid of the pseudo-applications BT, SP and LU, and how the five unknowns of a point lie in memory.
#pragma once

#include <array>
#include <cstddef>

namespace cfd {

/// Density, the three components of momentum, energy; each for a unit of volume.
constexpr int k_unknowns = 5;
using State = std::array<double, k_unknowns>;

/// n x n x n points, i contiguous; the outermost are the boundary. Lines and planes have an odd length, as the
/// benchmark's are padded, so that the points of a column do not fall into a few sets of a cache.
struct Cube {
  explicit Cube(int side) : n(side), row(side | 1), plane(row * row) {}

  std::ptrdiff_t at(int i, int j, int k) const { return k * plane + j * row + i; }
  std::size_t points() const { return static_cast<std::size_t>(plane) * static_cast<std::size_t>(n); }

  /// How far neighbours along a direction are apart: 0 is x (i), 1 is y (j), 2 is z (k).
  template <int Direction>
  std::ptrdiff_t stride() const {
    return Direction == 0 ? 1 : Direction == 1 ? row : plane;
  }

  int n;
  std::ptrdiff_t row;
  std::ptrdiff_t plane;
};

/// Five values a point, those of a point side by side: BT's and LU's u(m,i,j,k).
struct Together {
  static constexpr int k_at_once = k_unknowns;  // what a sweep over the grid takes of them

  double& operator()(int m, std::ptrdiff_t point) const { return data[k_unknowns * point + m]; }

  double* data;
};

/// Five values a point, each a grid of its own: SP's u(i,j,k,m).
struct Apart {
  static constexpr int k_at_once = 1;

  double& operator()(int m, std::ptrdiff_t point) const { return data[m * points + point]; }

  double* data;
  std::ptrdiff_t points;
};

}  // namespace cfd
