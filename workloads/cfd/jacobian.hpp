// Computes the 5 x 5 blocks of BT's and LU's implicit operators: Jacobians of the fluxes. RNR-94-007, section 3.
#pragma once

#include "cfd/equations.hpp"

namespace cfd {

constexpr int k_block = k_unknowns * k_unknowns;  // values of a block; row r, column c is number 5 r + c

/// A point as the Jacobians see it.
struct Point {
  const double* u;
  double rho_i;   // 1 / density
  double qs;      // kinetic energy of a unit of mass
  double square;  // kinetic energy of a unit of volume
};

/// Weights of second-order differences in a block: of the three momenta, of energy, of all unknowns.
struct Weights {
  std::array<double, 3> momentum{};
  double energy = 0.0;
  double all = 0.0;

  /// Adds those of one direction, `scale` being dt over the square of the spacing.
  void add(int direction, double scale) {
    for (int m = 0; m < 3; ++m) momentum[m] += scale * k_viscosity * (m == direction ? k_stretch : 1.0);
    energy += scale * k_viscosity * k_conduction;
    all += scale * k_diffusion[direction];
  }
};

/// The last row of the viscous Jacobian's first column.
inline double energy_by_density(const Point& point, const Weights& w) {
  const double* const u = point.u;
  const double rho_i2 = point.rho_i * point.rho_i;
  return -rho_i2 *
         (point.rho_i * ((w.momentum[0] - w.energy) * u[1] * u[1] + (w.momentum[1] - w.energy) * u[2] * u[2] +
                         (w.momentum[2] - w.energy) * u[3] * u[3]) +
          w.energy * u[4]);
}

/// block = the identity and twice the point's own second-order part.
inline void diagonal_block(const Point& point, const Weights& w, double* block) {
  const double* const u = point.u;
  const double rho_i = point.rho_i;
  const double rho_i2 = rho_i * rho_i;
  const double own = 1.0 + 2.0 * w.all;
  for (int e = 0; e < k_block; ++e) block[e] = 0.0;
  block[0] = own;
#pragma GCC unroll 3
  for (int m = 1; m <= 3; ++m) {
    block[5 * m] = -2.0 * w.momentum[m - 1] * rho_i2 * u[m];
    block[6 * m] = own + 2.0 * w.momentum[m - 1] * rho_i;
    block[20 + m] = 2.0 * (w.momentum[m - 1] - w.energy) * rho_i2 * u[m];
  }
  block[20] = 2.0 * energy_by_density(point, w);
  block[24] = own + 2.0 * w.energy * rho_i;
}

/// block = what a neighbour along Direction contributes: `carry` times the Jacobian of the flux there, less the
/// second-order part. carry is dt over twice the spacing, negative for the neighbour before.
template <int Direction>
void neighbour_block(const Point& point, double carry, const Weights& w, double* block) {
  constexpr int k_along = Direction + 1;
  const double* const u = point.u;
  const double rho_i = point.rho_i;
  const double rho_i2 = rho_i * rho_i;
  const double speed = u[k_along] * rho_i;

  for (int c = 0; c < k_unknowns; ++c) block[c] = 0.0;
  block[0] = -w.all;
  block[k_along] = carry;
#pragma GCC unroll 3
  for (int m = 1; m <= 3; ++m) {
    double* const row = block + 5 * m;
    row[0] = -carry * speed * u[m] * rho_i + w.momentum[m - 1] * rho_i2 * u[m];
    row[1] = row[2] = row[3] = row[4] = 0.0;
    row[k_along] += carry * u[m] * rho_i;
    row[m] += carry * speed - w.momentum[m - 1] * rho_i - w.all;
  }
  double* const along = block + 5 * k_along;
  along[0] += carry * k_pressure * point.qs;
  along[4] = carry * k_pressure;
  double* const energy = block + 20;
  energy[0] =
      carry * (2.0 * k_pressure * point.square - k_gamma * u[4]) * speed * rho_i - energy_by_density(point, w);
#pragma GCC unroll 3
  for (int m = 1; m <= 3; ++m) {
    along[m] -= carry * k_pressure * u[m] * rho_i;
    energy[m] = -carry * k_pressure * u[m] * rho_i * speed - (w.momentum[m - 1] - w.energy) * rho_i2 * u[m];
  }
  energy[k_along] += carry * (k_gamma * u[4] * rho_i - k_pressure * point.qs);
  energy[4] = carry * k_gamma * speed - w.energy * rho_i - w.all;
}

}  // namespace cfd
