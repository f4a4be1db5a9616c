// Implements the stencils of NPB MG on the interior of a box of points, for one process that has the whole cube
// (operators.cpp) and for a rank that has a part of it (mpi/mg). The caller updates ghost layers afterwards.
//
// `GridType` has line(i3, i2) and its points along each dimension, ghost layers included: n1() (contiguous), n2()
// and n3(). The templates are always inlined, so that they belong to the function that names the operator at run
// time.
#pragma once

#include <array>

#include "mg/operators.hpp"

namespace mg {

/// For each point of a line, the sum over the four nearest lines beside it and over the four diagonal ones.
/// All three stencil operators combine these sums, which saves most additions.
struct Neighbours {
  std::array<double, k_max_line> near;
  std::array<double, k_max_line> diagonal;

  template <typename GridType>
  void gather(const GridType& grid, int i3, int i2) {
    const double* const south = grid.line(i3, i2 - 1);
    const double* const north = grid.line(i3, i2 + 1);
    const double* const below = grid.line(i3 - 1, i2);
    const double* const above = grid.line(i3 + 1, i2);
    const double* const below_south = grid.line(i3 - 1, i2 - 1);
    const double* const below_north = grid.line(i3 - 1, i2 + 1);
    const double* const above_south = grid.line(i3 + 1, i2 - 1);
    const double* const above_north = grid.line(i3 + 1, i2 + 1);
    for (int i = 0; i < grid.n1(); ++i) {
      near[i] = south[i] + north[i] + below[i] + above[i];
      diagonal[i] = below_south[i] + below_north[i] + above_south[i] + above_north[i];
    }
  }
};

/// Computes r = v - A u. r may be v.
template <typename GridType>
[[gnu::always_inline]] inline void compute_residual(const GridType& u, const GridType& v, const GridType& r) {
  const Stencil laplacian = k_laplacian;
  const double centre = laplacian[0];
  const double edges = laplacian[2];
  const double corners = laplacian[3];
  static_assert(k_laplacian[1] == 0.0, "the sum over the faces is left out below");
  Neighbours sums;
#pragma omp parallel for schedule(static) private(sums)
  for (int i3 = 1; i3 < u.n3() - 1; ++i3) {
    for (int i2 = 1; i2 < u.n2() - 1; ++i2) {
      sums.gather(u, i3, i2);
      const auto& [near, diagonal] = sums;
      const double* const here = u.line(i3, i2);
      const double* const right = v.line(i3, i2);
      double* const result = r.line(i3, i2);
      for (int i = 1; i < u.n1() - 1; ++i) {
        result[i] = right[i] - centre * here[i] - edges * (diagonal[i] + near[i - 1] + near[i + 1]) -
                    corners * (diagonal[i - 1] + diagonal[i + 1]);
      }
    }
  }
}

/// Computes u = u + S r.
template <typename GridType>
[[gnu::always_inline]] inline void smooth(const GridType& r, const GridType& u, const Stencil& smoother) {
  const double centre = smoother[0];
  const double faces = smoother[1];
  const double edges = smoother[2];
  Neighbours sums;
#pragma omp parallel for schedule(static) private(sums)
  for (int i3 = 1; i3 < r.n3() - 1; ++i3) {
    for (int i2 = 1; i2 < r.n2() - 1; ++i2) {
      sums.gather(r, i3, i2);
      const auto& [near, diagonal] = sums;
      const double* const here = r.line(i3, i2);
      double* const result = u.line(i3, i2);
      for (int i = 1; i < r.n1() - 1; ++i) {
        result[i] += centre * here[i] + faces * (here[i - 1] + here[i + 1] + near[i]) +
                     edges * (diagonal[i] + near[i - 1] + near[i + 1]);
      }
    }
  }
}

/// Computes coarse = the restriction of fine by full weighting. Point i of the coarse grid is point 2 i + offset
/// of the fine one; offsets are in the order i3, i2, i1.
template <typename GridType>
[[gnu::always_inline]] inline void restrict_to(const GridType& fine, const GridType& coarse,
                                               const std::array<int, 3>& offset) {
  Neighbours sums;
#pragma omp parallel for schedule(static) private(sums)
  for (int i3 = 1; i3 < coarse.n3() - 1; ++i3) {
    for (int i2 = 1; i2 < coarse.n2() - 1; ++i2) {
      sums.gather(fine, 2 * i3 + offset[0], 2 * i2 + offset[1]);
      const auto& [near, diagonal] = sums;
      const double* const here = fine.line(2 * i3 + offset[0], 2 * i2 + offset[1]);
      double* const result = coarse.line(i3, i2);
      for (int i = 1; i < coarse.n1() - 1; ++i) {
        const int f = 2 * i + offset[2];
        result[i] = 0.5 * here[f] + 0.25 * (here[f - 1] + here[f + 1] + near[f]) +
                    0.125 * (near[f - 1] + near[f + 1] + diagonal[f]) +
                    0.0625 * (diagonal[f - 1] + diagonal[f + 1]);
      }
    }
  }
}

/// Returns the sum of squares of the interior.
template <typename GridType>
[[gnu::always_inline]] inline double sum_of_squares(const GridType& grid) {
  double sum = 0.0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (int i3 = 1; i3 < grid.n3() - 1; ++i3) {
    for (int i2 = 1; i2 < grid.n2() - 1; ++i2) {
      const double* const line = grid.line(i3, i2);
      for (int i = 1; i < grid.n1() - 1; ++i) sum += line[i] * line[i];
    }
  }
  return sum;
}

}  // namespace mg
