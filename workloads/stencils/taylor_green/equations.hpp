// Implements the compressible Navier-Stokes equations at a point, as kernels of taylor_green. Dimensionless:
// density, velocity and temperature are 1 at first, a vortex has size 1; viscosity and conductivity are constant.
#pragma once

#include "workloads/stencils/taylor_green/differences.hpp"

namespace terrace::stencil::programs::taylor_green {

struct Gas {
  double mach = 0.1;
  double reynolds = 1600;
  double gamma = 1.4;
  double prandtl = 0.71;
  // p = R rho T
  [[nodiscard]] double constant() const { return 1 / (gamma * mach * mach); }
  [[nodiscard]] double viscosity() const { return 1 / reynolds; }
  [[nodiscard]] double conductivity() const { return constant() * gamma / (gamma - 1) / (prandtl * reynolds); }
};

// Computes velocity, pressure and temperature from the conserved quantities.
struct State {
  double gamma, constant;
  explicit State(const Gas& gas) : gamma(gas.gamma), constant(gas.constant()) {}
  void operator()(auto u, auto v, auto w, auto p, auto t, auto rho, auto rho_u, auto rho_v, auto rho_w,
                  auto rho_e) const {
    const auto volume = 1 / rho();
    u() = rho_u() * volume;
    v() = rho_v() * volume;
    w() = rho_w() * volume;
    p() = (gamma - 1) * (rho_e() - 0.5 * (rho_u() * u() + rho_v() * v() + rho_w() * w()));
    t() = p() * volume / constant;
  }
};

// Returns the viscous dissipation for a viscosity of 1: the stress times the velocity gradient.
[[nodiscard]] inline double friction(double u_x, double u_y, double u_z, double v_x, double v_y, double v_z,
                                     double w_x, double w_y, double w_z) {
  const auto divergence = u_x + v_y + w_z;
  const auto xy = u_y + v_x, xz = u_z + w_x, yz = v_z + w_y;
  return 2 * (u_x * u_x + v_y * v_y + w_z * w_z) - 2. / 3 * divergence * divergence + xy * xy + xz * xz + yz * yz;
}

// Computes the rates of change of the conserved quantities: most of the work.
struct Rates {
  Weights weights;
  double viscosity, conductivity;
  Rates(const Gas& gas, const Weights& of_grid)
      : weights(of_grid), viscosity(gas.viscosity()), conductivity(gas.conductivity()) {}
  void operator()(auto rate_rho, auto rate_u, auto rate_v, auto rate_w, auto rate_e, auto rho, auto rho_u,
                  auto rho_v, auto rho_w, auto rho_e, auto u, auto v, auto w, auto p, auto t, auto u_x, auto u_y,
                  auto u_z, auto v_x, auto v_y, auto v_z, auto w_x, auto w_y, auto w_z) const {
    const Velocities<0> along_x(u);
    const Velocities<1> along_y(v);
    const Velocities<2> along_z(w);
    const auto convected = [&](const auto& f) {
      return convection(f, along_x, u_x(), weights) + convection(f, along_y, v_y(), weights) +
             convection(f, along_z, w_z(), weights);
    };
    const auto p_x = first_difference<0>(p, weights);
    const auto p_y = first_difference<1>(p, weights);
    const auto p_z = first_difference<2>(p, weights);
    // Second derivatives along one axis are computed from the velocity itself, which resolves the shortest
    // waves; mixed ones are differences of first ones.
    const auto u_xx = second_difference<0>(u, weights);
    const auto v_yy = second_difference<1>(v, weights);
    const auto w_zz = second_difference<2>(w, weights);
    const auto friction_x =
        viscosity * (4. / 3 * u_xx + second_difference<1>(u, weights) + second_difference<2>(u, weights) +
                     1. / 3 * (first_difference<0>(v_y, weights) + first_difference<0>(w_z, weights)));
    const auto friction_y =
        viscosity * (4. / 3 * v_yy + second_difference<0>(v, weights) + second_difference<2>(v, weights) +
                     1. / 3 * (first_difference<1>(u_x, weights) + first_difference<1>(w_z, weights)));
    const auto friction_z =
        viscosity * (4. / 3 * w_zz + second_difference<0>(w, weights) + second_difference<1>(w, weights) +
                     1. / 3 * (first_difference<2>(u_x, weights) + first_difference<2>(v_y, weights)));
    rate_rho() = -convected(rho);
    rate_u() = friction_x - p_x - convected(rho_u);
    rate_v() = friction_y - p_y - convected(rho_v);
    rate_w() = friction_z - p_z - convected(rho_w);
    // Pressure work is split, too: p D(u) + u D(p).
    rate_e() = u() * (friction_x - p_x) + v() * (friction_y - p_y) + w() * (friction_z - p_z) -
               p() * (u_x() + v_y() + w_z()) +
               viscosity * friction(u_x(), u_y(), u_z(), v_x(), v_y(), v_z(), w_x(), w_y(), w_z()) +
               conductivity * laplacian(t, weights) - convected(rho_e);
  }
};

// Sums over the grid.
struct Sums {
  double viscosity;
  void operator()(auto rho, auto rho_e, auto u, auto v, auto w, auto u_x, auto u_y, auto u_z, auto v_x, auto v_y,
                  auto v_z, auto w_x, auto w_y, auto w_z, auto mass, auto energy, auto kinetic, auto enstrophy,
                  auto dissipation) const {
    const auto x = w_y() - v_z(), y = u_z() - w_x(), z = v_x() - u_y();
    mass += rho();
    energy += rho_e();
    kinetic += 0.5 * rho() * (u() * u() + v() * v() + w() * w());
    enstrophy += 0.5 * (x * x + y * y + z * z);
    dissipation += viscosity * friction(u_x(), u_y(), u_z(), v_x(), v_y(), v_z(), w_x(), w_y(), w_z());
  }
};

}  // namespace terrace::stencil::programs::taylor_green
