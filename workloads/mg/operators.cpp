// Implements the operators of NPB MG's V-cycles. Each is never inlined, so that it keeps its name at run time:
// phases can be told by function entries too.
#include "mg/operators.hpp"

#include <algorithm>
#include <cmath>

#include "mg/stencils.hpp"

namespace mg {
namespace {

/// Copies each face of the interior into the ghost layer on the other side: the cube is periodic.
void exchange(Grid grid) {
  const int last = grid.n - 1;
#pragma omp parallel for schedule(static)
  for (int i3 = 1; i3 < last; ++i3) {
    for (int i2 = 1; i2 < last; ++i2) {
      double* const line = grid.line(i3, i2);
      line[0] = line[last - 1];
      line[last] = line[1];
    }
    std::copy_n(grid.line(i3, last - 1), grid.n, grid.line(i3, 0));
    std::copy_n(grid.line(i3, 1), grid.n, grid.line(i3, last));
  }
  const auto plane = static_cast<std::size_t>(grid.n) * static_cast<std::size_t>(grid.n);
  std::copy_n(grid.line(last - 1, 0), plane, grid.line(0, 0));
  std::copy_n(grid.line(1, 0), plane, grid.line(last, 0));
}

/// Adds to one fine line the coarse line `sums`: points that coincide get `weight`, those between two half of
/// it from each.
void add_prolonged(const double* sums, int coarse_n, double weight, double* fine) {
  for (int i = 0; i < coarse_n - 1; ++i) {
    fine[2 * i] += weight * sums[i];
    fine[2 * i + 1] += 0.5 * weight * (sums[i] + sums[i + 1]);
  }
}

}  // namespace

[[gnu::noinline]] void fill_zero(Grid grid) { std::fill_n(grid.data, grid.points(), 0.0); }

[[gnu::noinline]] void resid(Grid u, Grid v, Grid r) {
  compute_residual(u, v, r);
  exchange(r);
}

[[gnu::noinline]] void psinv(Grid r, Grid u, const Stencil& smoother) {
  smooth(r, u, smoother);
  exchange(u);
}

[[gnu::noinline]] void rprj3(Grid fine, Grid coarse) {
  restrict_to(fine, coarse, {0, 0, 0});
  exchange(coarse);
}

// Fills the fine grid's ghosts from the coarse grid's, so no exchange follows.
[[gnu::noinline]] void interp(Grid coarse, Grid fine) {
  const int n = coarse.n;
  std::array<double, k_max_line> two_south;
  std::array<double, k_max_line> two_below;
  std::array<double, k_max_line> four;
#pragma omp parallel for schedule(static) private(two_south, two_below, four)
  for (int i3 = 0; i3 < n - 1; ++i3) {
    for (int i2 = 0; i2 < n - 1; ++i2) {
      const double* const here = coarse.line(i3, i2);
      const double* const north = coarse.line(i3, i2 + 1);
      const double* const above = coarse.line(i3 + 1, i2);
      const double* const above_north = coarse.line(i3 + 1, i2 + 1);
      for (int i = 0; i < n; ++i) {
        two_south[i] = here[i] + north[i];
        two_below[i] = here[i] + above[i];
        four[i] = two_south[i] + above[i] + above_north[i];
      }
      add_prolonged(here, n, 1.0, fine.line(2 * i3, 2 * i2));
      add_prolonged(two_south.data(), n, 0.5, fine.line(2 * i3, 2 * i2 + 1));
      add_prolonged(two_below.data(), n, 0.5, fine.line(2 * i3 + 1, 2 * i2));
      add_prolonged(four.data(), n, 0.25, fine.line(2 * i3 + 1, 2 * i2 + 1));
    }
  }
}

[[gnu::noinline]] double norm(Grid grid) {
  const double side = grid.n - 2;
  return std::sqrt(sum_of_squares(grid) / (side * side * side));
}

}  // namespace mg
