// Solves NPB BT's block-tridiagonal systems. Source: RNR-94-007, section 3.
//
// As in the benchmark's version for several processes: first all lines are eliminated forwards, which leaves the
// blocks above the diagonal in lhsc, over the whole grid; then a sweep of its own substitutes backwards.
#include "bt/solve.hpp"

#include <algorithm>

#include "cfd/jacobian.hpp"

namespace bt {
namespace {

using cfd::k_block;
using cfd::k_unknowns;

cfd::Point point_at(const Fields& fields, std::ptrdiff_t p) {
  const cfd::Derived& derived = fields.derived;
  return {&fields.u(0, p), derived.rho_i[p], derived.qs[p], derived.square[p]};
}

/// y = y - A x.
void subtract_product(const double* a, const double* x, double* y) {
  for (int r = 0; r < k_unknowns; ++r) {
    const double* const row = a + k_unknowns * r;
    y[r] -= row[0] * x[0] + row[1] * x[1] + row[2] * x[2] + row[3] * x[3] + row[4] * x[4];
  }
}

/// C = C - A B.
void subtract_block_product(const double* a, const double* b, double* c) {
  for (int r = 0; r < k_unknowns; ++r) {
    const double* const row = a + k_unknowns * r;
#pragma GCC unroll 5
    for (int e = 0; e < k_unknowns; ++e) {
      c[k_unknowns * r + e] -=
          row[0] * b[e] + row[1] * b[5 + e] + row[2] * b[10 + e] + row[3] * b[15 + e] + row[4] * b[20 + e];
    }
  }
}

/// C = the inverse of B times C, x = the inverse of B times x. Leaves B in ruins. The blocks are dominated by
/// their diagonals, so there is no pivoting.
void solve_block(double* b, double* c, double* x) {
  for (int p = 0; p < k_unknowns; ++p) {
    double* const b_pivot = b + k_unknowns * p;
    double* const c_pivot = c + k_unknowns * p;
    const double scale = 1.0 / b_pivot[p];
    for (int e = p + 1; e < k_unknowns; ++e) b_pivot[e] *= scale;
#pragma GCC unroll 5
    for (int e = 0; e < k_unknowns; ++e) c_pivot[e] *= scale;
    x[p] *= scale;
    for (int r = 0; r < k_unknowns; ++r) {
      if (r == p) continue;
      const double factor = b[k_unknowns * r + p];
      for (int e = p + 1; e < k_unknowns; ++e) b[k_unknowns * r + e] -= factor * b_pivot[e];
#pragma GCC unroll 5
      for (int e = 0; e < k_unknowns; ++e) c[k_unknowns * r + e] -= factor * c_pivot[e];
      x[r] -= factor * x[p];
    }
  }
}

/// Factors shared by the systems of a direction.
struct System {
  System(int side, double dt, int direction) : carry(dt * 0.5 * (side - 1)) {
    weights.add(direction, dt * (side - 1) * (side - 1));
  }

  double carry;
  cfd::Weights weights;
};

/// Eliminates the line that begins at the point `begin`.
template <int Direction>
void eliminate(const cfd::Cube& cube, const System& system, const Fields& fields, std::ptrdiff_t begin) {
  const std::ptrdiff_t s = cube.stride<Direction>();
  const cfd::Range line = cube.inside[Direction];
  double before[k_block];
  double own[k_block];
  if (line.begin == 1) std::fill_n(fields.lhsc + k_block * (begin - s), k_block, 0.0);
  for (std::ptrdiff_t p = begin; p < begin + line.size() * s; p += s) {
    double* const after = fields.lhsc + k_block * p;
    cfd::neighbour_block<Direction>(point_at(fields, p - s), -system.carry, system.weights, before);
    cfd::diagonal_block(point_at(fields, p), system.weights, own);
    cfd::neighbour_block<Direction>(point_at(fields, p + s), system.carry, system.weights, after);
    subtract_product(before, &fields.rhs(0, p - s), &fields.rhs(0, p));
    subtract_block_product(before, after - k_block * s, own);
    solve_block(own, after, &fields.rhs(0, p));
  }
}

/// One step of the substitution, at p; what follows on its line is solved.
void substitute(const Fields& fields, std::ptrdiff_t p, std::ptrdiff_t stride) {
  subtract_product(fields.lhsc + k_block * p, &fields.rhs(0, p + stride), &fields.rhs(0, p));
}

}  // namespace

template <int Direction>
void eliminate_lines(const cfd::Cube& cube, double dt, const Fields& fields) {
  const System system(cube.n, dt, Direction);
  // The lines begin in the points of a plane; threads share its rows.
  const cfd::Range outer = cube.inside[Direction == 2 ? 1 : 2];
  const cfd::Range inner = cube.inside[Direction == 0 ? 1 : 0];
  const int begin = cube.inside[Direction].begin;
#pragma omp parallel for schedule(static)
  for (int a = outer.begin; a < outer.end; ++a) {
    for (int b = inner.begin; b < inner.end; ++b) {
      if constexpr (Direction == 0) eliminate<0>(cube, system, fields, cube.at(begin, b, a));
      if constexpr (Direction == 1) eliminate<1>(cube, system, fields, cube.at(b, begin, a));
      if constexpr (Direction == 2) eliminate<2>(cube, system, fields, cube.at(b, a, begin));
    }
  }
}

template <int Direction>
void substitute_lines(const cfd::Cube& cube, const Fields& fields) {
  const std::ptrdiff_t s = cube.stride<Direction>();
  const cfd::Range x = cube.inside[0];
  const cfd::Range y = cube.inside[1];
  const cfd::Range z = cube.inside[2];
  if constexpr (Direction == 2) {
    // All threads pass the planes in order, each with its own lines, so no thread waits for a plane's end.
#pragma omp parallel
    for (int k = z.end - 1; k >= z.begin; --k) {
#pragma omp for schedule(static) nowait
      for (int j = y.begin; j < y.end; ++j) {
        for (int i = x.begin; i < x.end; ++i) substitute(fields, cube.at(i, j, k), s);
      }
    }
  } else {
#pragma omp parallel for schedule(static)
    for (int k = z.begin; k < z.end; ++k) {
      if constexpr (Direction == 0) {
        for (int j = y.begin; j < y.end; ++j) {
          for (int i = x.end - 1; i >= x.begin; --i) substitute(fields, cube.at(i, j, k), s);
        }
      } else {
        for (int j = y.end - 1; j >= y.begin; --j) {
          for (int i = x.begin; i < x.end; ++i) substitute(fields, cube.at(i, j, k), s);
        }
      }
    }
  }
}

template void eliminate_lines<1>(const cfd::Cube&, double, const Fields&);
template void eliminate_lines<2>(const cfd::Cube&, double, const Fields&);
template void substitute_lines<1>(const cfd::Cube&, const Fields&);
template void substitute_lines<2>(const cfd::Cube&, const Fields&);

[[gnu::noinline]] void x_solve(const cfd::Cube& cube, double dt, const Fields& fields) {
  eliminate_lines<0>(cube, dt, fields);
  substitute_lines<0>(cube, fields);
}

[[gnu::noinline]] void y_solve(const cfd::Cube& cube, double dt, const Fields& fields) {
  eliminate_lines<1>(cube, dt, fields);
  substitute_lines<1>(cube, fields);
}

[[gnu::noinline]] void z_solve(const cfd::Cube& cube, double dt, const Fields& fields) {
  eliminate_lines<2>(cube, dt, fields);
  substitute_lines<2>(cube, fields);
}

}  // namespace bt
