// Implements the operators of NPB MG's V-cycles. Each is never inlined, so that it keeps its name at run time:
// phases can be told by function entries too.
#include "mg/operators.hpp"

#include <algorithm>
#include <cmath>

namespace mg {
namespace {

/// For each point of a line, the sum over the four nearest lines beside it and over the four diagonal ones.
/// All three stencil operators combine these sums, which saves most additions.
struct Neighbours {
  std::array<double, k_max_line> near;
  std::array<double, k_max_line> diagonal;

  void gather(Grid grid, int i3, int i2) {
    const double* const south = grid.line(i3, i2 - 1);
    const double* const north = grid.line(i3, i2 + 1);
    const double* const below = grid.line(i3 - 1, i2);
    const double* const above = grid.line(i3 + 1, i2);
    const double* const below_south = grid.line(i3 - 1, i2 - 1);
    const double* const below_north = grid.line(i3 - 1, i2 + 1);
    const double* const above_south = grid.line(i3 + 1, i2 - 1);
    const double* const above_north = grid.line(i3 + 1, i2 + 1);
    for (int i = 0; i < grid.n; ++i) {
      near[i] = south[i] + north[i] + below[i] + above[i];
      diagonal[i] = below_south[i] + below_north[i] + above_south[i] + above_north[i];
    }
  }
};

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
  const Stencil laplacian = k_laplacian;
  const double centre = laplacian[0];
  const double edges = laplacian[2];
  const double corners = laplacian[3];
  static_assert(k_laplacian[1] == 0.0, "the sum over the faces is left out below");
  Neighbours sums;
#pragma omp parallel for schedule(static) private(sums)
  for (int i3 = 1; i3 < u.n - 1; ++i3) {
    for (int i2 = 1; i2 < u.n - 1; ++i2) {
      sums.gather(u, i3, i2);
      const auto& [near, diagonal] = sums;
      const double* const here = u.line(i3, i2);
      const double* const right = v.line(i3, i2);
      double* const result = r.line(i3, i2);
      for (int i = 1; i < u.n - 1; ++i) {
        result[i] = right[i] - centre * here[i] - edges * (diagonal[i] + near[i - 1] + near[i + 1]) -
                    corners * (diagonal[i - 1] + diagonal[i + 1]);
      }
    }
  }
  exchange(r);
}

[[gnu::noinline]] void psinv(Grid r, Grid u, const Stencil& smoother) {
  const double centre = smoother[0];
  const double faces = smoother[1];
  const double edges = smoother[2];
  Neighbours sums;
#pragma omp parallel for schedule(static) private(sums)
  for (int i3 = 1; i3 < r.n - 1; ++i3) {
    for (int i2 = 1; i2 < r.n - 1; ++i2) {
      sums.gather(r, i3, i2);
      const auto& [near, diagonal] = sums;
      const double* const here = r.line(i3, i2);
      double* const result = u.line(i3, i2);
      for (int i = 1; i < r.n - 1; ++i) {
        result[i] += centre * here[i] + faces * (here[i - 1] + here[i + 1] + near[i]) +
                     edges * (diagonal[i] + near[i - 1] + near[i + 1]);
      }
    }
  }
  exchange(u);
}

[[gnu::noinline]] void rprj3(Grid fine, Grid coarse) {
  Neighbours sums;
#pragma omp parallel for schedule(static) private(sums)
  for (int i3 = 1; i3 < coarse.n - 1; ++i3) {
    for (int i2 = 1; i2 < coarse.n - 1; ++i2) {
      sums.gather(fine, 2 * i3, 2 * i2);
      const auto& [near, diagonal] = sums;
      const double* const here = fine.line(2 * i3, 2 * i2);
      double* const result = coarse.line(i3, i2);
      for (int i = 1; i < coarse.n - 1; ++i) {
        const int f = 2 * i;
        result[i] = 0.5 * here[f] + 0.25 * (here[f - 1] + here[f + 1] + near[f]) +
                    0.125 * (near[f - 1] + near[f + 1] + diagonal[f]) +
                    0.0625 * (diagonal[f - 1] + diagonal[f + 1]);
      }
    }
  }
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
  double sum = 0.0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (int i3 = 1; i3 < grid.n - 1; ++i3) {
    for (int i2 = 1; i2 < grid.n - 1; ++i2) {
      const double* const line = grid.line(i3, i2);
      for (int i = 1; i < grid.n - 1; ++i) sum += line[i] * line[i];
    }
  }
  const double side = grid.n - 2;
  return std::sqrt(sum / (side * side * side));
}

}  // namespace mg
