// Computes the surface integral by which NPB LU is verified. Source: RNR-94-007, section 3.
#include "lu/surface.hpp"

#include <algorithm>

#include "cfd/equations.hpp"

namespace lu {
namespace {

/// The trapezoidal sum of value(first, second) over a rectangle of points.
template <typename Value>
double integrate(cfd::Range first, cfd::Range second, Value value) {
  double sum = 0.0;
  for (int b = second.begin; b < second.end; ++b) {
    for (int a = first.begin; a < first.end; ++a) {
      sum += value(a, b) + value(a + 1, b) + value(a, b + 1) + value(a + 1, b + 1);
    }
  }
  return sum;
}

}  // namespace

double surface_integral(const cfd::Cube& cube, const workloads::Processes& processes, cfd::Together u) {
  // The box: along x from the second point to the last but one, along y to the last but two, along z from the
  // third.
  const int last = cube.n - 2;
  const int begin[] = {1, 1, 2};
  const int end[] = {last, last - 1, last};
  const auto pressure = [&](int i, int j, int k) {
    const std::ptrdiff_t p = cube.at(i, j, k);
    return cfd::k_pressure *
           (u(4, p) - 0.5 * (u(1, p) * u(1, p) + u(2, p) * u(2, p) + u(3, p) * u(3, p)) / u(0, p));
  };
  // Cells that begin in a point of this process, along each direction.
  cfd::Range cells[3];
  for (int d = 0; d < 3; ++d) {
    cells[d] = {std::max(begin[d], cube.inside[d].begin), std::min(end[d], cube.inside[d].end)};
  }
  // The pressure where this process has that index along the direction, else 0.
  const auto part = [&](int direction, int index, int i, int j, int k) {
    return cube.inside[direction].contains(index) ? pressure(i, j, k) : 0.0;
  };
  double sum = 0.0;
  sum += integrate(cells[0], cells[1], [&](int i, int j) {
    return part(2, begin[2], i, j, begin[2]) + part(2, end[2], i, j, end[2]);
  });
  sum += integrate(cells[0], cells[2], [&](int i, int k) {
    return part(1, begin[1], i, begin[1], k) + part(1, end[1], i, end[1], k);
  });
  sum += integrate(cells[1], cells[2], [&](int j, int k) {
    return part(0, begin[0], begin[0], j, k) + part(0, end[0], end[0], j, k);
  });
  sum = processes.sum(sum);
  const double side = cube.n - 1;
  return 0.25 * sum / (side * side);
}

}  // namespace lu
