// Defines the grid of the pseudo-applications BT, SP and LU, and how the five unknowns of a point lie in memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace cfd {

/// Density, the three components of momentum, energy; each for a unit of volume.
constexpr int k_unknowns = 5;
using State = std::array<double, k_unknowns>;

/// A half-open interval of indices.
struct Range {
  int begin;
  int end;

  int size() const { return end - begin; }
  bool contains(int index) const { return begin <= index && index < end; }
};

/// n x n x n points, i contiguous; the outermost are the boundary. Lines and planes have an odd length, as the
/// benchmark's are padded, so that the points of a column do not fall into a few sets of a cache.
///
/// A process computes the points `inside`: all but the boundary, unless several processes divide the grid. It
/// stores them and up to k_halo layers around them: the boundary, or copies of the neighbours' points. Indices are
/// those of the whole grid.
struct Cube {
  static constexpr int k_halo = 2;  // fourth differences reach two points far

  explicit Cube(int side) : Cube(side, {{{1, side - 1}, {1, side - 1}, {1, side - 1}}}) {}

  Cube(int side, const std::array<Range, 3>& computed) : n(side), inside(computed), stored(computed) {
    for (Range& range : stored) range = {std::max(range.begin - k_halo, 0), std::min(range.end + k_halo, n)};
    row = stored[0].size() | 1;
    plane = row * (stored[1].size() | 1);
    origin = stored[2].begin * plane + stored[1].begin * row + stored[0].begin;
  }

  std::ptrdiff_t at(int i, int j, int k) const { return k * plane + j * row + i - origin; }
  std::size_t points() const {
    return static_cast<std::size_t>(plane) * static_cast<std::size_t>(stored[2].size());
  }

  /// Returns the part of a line along a direction that this process computes, with the boundary where it has it.
  Range line(int direction) const {
    const Range range = inside[direction];
    return {range.begin == 1 ? 0 : range.begin, range.end == n - 1 ? n : range.end};
  }

  /// Returns the same grid, of which only the points with this index along a direction are computed.
  Cube layer(int direction, int index) const {
    Cube part = *this;
    part.inside[direction] = {index, index + 1};
    return part;
  }

  /// How far neighbours along a direction are apart: 0 is x (i), 1 is y (j), 2 is z (k).
  template <int Direction>
  std::ptrdiff_t stride() const {
    return Direction == 0 ? 1 : Direction == 1 ? row : plane;
  }

  int n;
  std::array<Range, 3> inside;
  std::array<Range, 3> stored;
  std::ptrdiff_t row;
  std::ptrdiff_t plane;
  std::ptrdiff_t origin;  // what at() would give the first stored point without it
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
