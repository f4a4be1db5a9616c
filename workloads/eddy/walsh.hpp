// Declares the exact solution by which eddy is verified, on the periodic square of side 2 pi: eddies, each an
// eigenfunction of Stokes' operator with the same eigenvalue, that decay while a uniform stream carries them.
// Source: Walsh, "Eddy solutions of the Navier-Stokes equations", in: The Navier-Stokes equations II, Lecture
// Notes in Mathematics 1530, 1992. Wave numbers, stream and viscosity are those of Nek5000's example `eddy_uv`.
#pragma once

namespace eddy {

constexpr double k_eigenvalue = 25.0;  // 5^2 + 0^2 = 3^2 + 4^2
constexpr double k_viscosity = 0.05;
constexpr double k_stream_x = 1.0;
constexpr double k_stream_y = 0.3;
/// No velocity is larger at any point or time, in x or y.
constexpr double k_max_speed = 3.0;

struct Exact {
  double vx, vy, pressure;  // the pressure but for a constant
};

Exact exact_solution(double x, double y, double time);

/// Returns the remaining share of the eddies' velocity.
double decay(double time);

/// The mean over the square of the eddies' velocity, squared, at time 0.
constexpr double k_mean_square = 89.0 / 64.0;

}  // namespace eddy
