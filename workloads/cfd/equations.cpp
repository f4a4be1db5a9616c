// Computes the steady state that BT, SP and LU approach, and their initial fields. Source: RNR-94-007, section 3.
#include "cfd/equations.hpp"

#include <algorithm>

namespace cfd {
namespace {

/// Polynomials of the unknowns: constant, then coefficients of x, y, z, of their squares, cubes and fourth powers.
constexpr double k_polynomial[k_unknowns][13] = {
    {2.0, 0.0, 0.0, 4.0, 5.0, 3.0, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3},
    {1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5},
    {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4},
    {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3},
    {5.0, 4.0, 3.0, 2.0, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2},
};

/// The part of a polynomial that depends on coordinate `axis` alone.
double along(const double* coefficients, int axis, double x) {
  const double* const c = coefficients + 1 + axis;
  return x * (c[0] + x * (c[3] + x * (c[6] + x * c[9])));
}

double coordinate(const Cube& cube, int index) { return static_cast<double>(index) / (cube.n - 1); }

}  // namespace

State exact_solution(double x, double y, double z) {
  State state;
  for (int m = 0; m < k_unknowns; ++m) {
    const double* const c = k_polynomial[m];
    state[m] = c[0] + along(c, 0, x) + along(c, 1, y) + along(c, 2, z);
  }
  return state;
}

State exact_at(const Cube& cube, int i, int j, int k) {
  return exact_solution(coordinate(cube, i), coordinate(cube, j), coordinate(cube, k));
}

State initial_at(const Cube& cube, int i, int j, int k) {
  if (std::min({i, j, k}) == 0 || std::max({i, j, k}) == cube.n - 1) return exact_at(cube, i, j, k);
  const double x = coordinate(cube, i);
  const double y = coordinate(cube, j);
  const double z = coordinate(cube, k);
  const State west = exact_solution(0.0, y, z);
  const State east = exact_solution(1.0, y, z);
  const State south = exact_solution(x, 0.0, z);
  const State north = exact_solution(x, 1.0, z);
  const State below = exact_solution(x, y, 0.0);
  const State above = exact_solution(x, y, 1.0);
  State state;
  for (int m = 0; m < k_unknowns; ++m) {
    const double by_x = x * east[m] + (1.0 - x) * west[m];
    const double by_y = y * north[m] + (1.0 - y) * south[m];
    const double by_z = z * above[m] + (1.0 - z) * below[m];
    state[m] = by_x + by_y + by_z - by_x * by_y - by_y * by_z - by_z * by_x + by_x * by_y * by_z;
  }
  return state;
}

}  // namespace cfd
