// Computes the surface integral by which NPB LU is verified. Source: RNR-94-007, section 3.
#include "lu/surface.hpp"

#include "cfd/equations.hpp"

namespace lu {
namespace {

/// The trapezoidal sum of value(first, second) over a rectangle of points.
template <typename Value>
double integrate(int first_begin, int first_end, int second_begin, int second_end, Value value) {
  double sum = 0.0;
  for (int b = second_begin; b < second_end; ++b) {
    for (int a = first_begin; a < first_end; ++a) {
      sum += value(a, b) + value(a + 1, b) + value(a, b + 1) + value(a + 1, b + 1);
    }
  }
  return sum;
}

}  // namespace

double surface_integral(const cfd::Cube& cube, cfd::Together u) {
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
  double sum = 0.0;
  sum += integrate(begin[0], end[0], begin[1], end[1],
                   [&](int i, int j) { return pressure(i, j, begin[2]) + pressure(i, j, end[2]); });
  sum += integrate(begin[0], end[0], begin[2], end[2],
                   [&](int i, int k) { return pressure(i, begin[1], k) + pressure(i, end[1], k); });
  sum += integrate(begin[1], end[1], begin[2], end[2],
                   [&](int j, int k) { return pressure(begin[0], j, k) + pressure(end[0], j, k); });
  const double side = cube.n - 1;
  return 0.25 * sum / (side * side);
}

}  // namespace lu
