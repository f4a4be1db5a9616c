// Computes eddy's exact solution from the stream function sin(3x) sin(4y) / 4 - sin(5y) / 5 - cos(5x) / 5. Its
// vorticity is the eigenvalue times itself, so its own advection is a gradient, which the pressure takes up.
#include "eddy/walsh.hpp"

#include <cmath>

namespace eddy {

double decay(double time) { return std::exp(-k_viscosity * k_eigenvalue * time); }

Exact exact_solution(double x, double y, double time) {
  const double size = decay(time);
  const double a = x - k_stream_x * time;
  const double b = y - k_stream_y * time;
  const double sin_3a = std::sin(3.0 * a);
  const double sin_4b = std::sin(4.0 * b);
  const double stream = size * (0.25 * sin_3a * sin_4b - 0.2 * std::sin(5.0 * b) - 0.2 * std::cos(5.0 * a));
  const double vx = size * (sin_3a * std::cos(4.0 * b) - std::cos(5.0 * b));
  const double vy = size * (-0.75 * std::cos(3.0 * a) * sin_4b - std::sin(5.0 * a));
  return {k_stream_x + vx, k_stream_y + vy, -0.5 * (vx * vx + vy * vy + k_eigenvalue * stream * stream)};
}

}  // namespace eddy
