// Declares the grids of NPB MG and the operators of its V-cycles on them: 27-point stencils on periodic cubes.
// Source: Bailey et al., RNR-94-007 (1994), section 2.3.2.
#pragma once

#include <array>
#include <cstddef>

namespace mg {

/// A cube of n x n x n points, ghost layers included, the first index contiguous: interior 1 to n-2.
struct Grid {
  double* data;
  int n;

  double* line(int i3, int i2) const {
    return data + (static_cast<std::size_t>(i3) * static_cast<std::size_t>(n) + static_cast<std::size_t>(i2)) *
                      static_cast<std::size_t>(n);
  }
  int n1() const { return n; }
  int n2() const { return n; }
  int n3() const { return n; }
  std::size_t points() const {
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  }
};

/// The most points in a line, ghosts included: class C's 512.
constexpr int k_max_line = 514;

/// A symmetric 27-point stencil, by distance: centre, 6 faces, 12 edges, 8 corners.
using Stencil = std::array<double, 4>;

/// The discrete Laplacian A. Its faces are zero, and resid() relies on that.
constexpr Stencil k_laplacian{-8.0 / 3.0, 0.0, 1.0 / 6.0, 1.0 / 12.0};
/// The smoothers, approximate inverses of A: classes S, W, A, and classes B, C. Their corners are zero, and
/// psinv() relies on that.
constexpr Stencil k_smoother_small{-3.0 / 8.0, 1.0 / 32.0, -1.0 / 64.0, 0.0};
constexpr Stencil k_smoother_large{-3.0 / 17.0, 1.0 / 33.0, -1.0 / 61.0, 0.0};

void fill_zero(Grid grid);

/// r = v - A u. r may be v.
void resid(Grid u, Grid v, Grid r);

/// u = u + S r.
void psinv(Grid r, Grid u, const Stencil& smoother);

/// coarse = the restriction of fine: full weighting.
void rprj3(Grid fine, Grid coarse);

/// fine = fine + the trilinear prolongation of coarse.
void interp(Grid coarse, Grid fine);

/// The root mean square of the interior.
double norm(Grid grid);

}  // namespace mg
