// Computes the right-hand side of BT and SP: dt times (forcing + the differences of the fluxes of u). Source:
// RNR-94-007, section 3. The names of the arrays are the benchmark's.
#pragma once

#include "cfd/dissipation.hpp"

namespace cfd {

/// Fields derived from u, one value for each point.
struct Derived {
  double* us;  // velocity
  double* vs;
  double* ws;
  double* qs;      // kinetic energy of a unit of mass
  double* rho_i;   // 1 / density
  double* square;  // kinetic energy of a unit of volume
};

/// Also calls more(point) everywhere, once the point's values are there.
template <typename Field, typename More>
void derive(const Cube& cube, Field u, const Derived& to, More more) {
#pragma omp parallel for schedule(static)
  for (int k = cube.stored[2].begin; k < cube.stored[2].end; ++k) {
    for (int j = cube.stored[1].begin; j < cube.stored[1].end; ++j) {
      for (int i = cube.stored[0].begin; i < cube.stored[0].end; ++i) {
        const std::ptrdiff_t p = cube.at(i, j, k);
        const double rho_i = 1.0 / u(0, p);
        const double square = 0.5 * (u(1, p) * u(1, p) + u(2, p) * u(2, p) + u(3, p) * u(3, p)) * rho_i;
        to.rho_i[p] = rho_i;
        to.us[p] = u(1, p) * rho_i;
        to.vs[p] = u(2, p) * rho_i;
        to.ws[p] = u(3, p) * rho_i;
        to.square[p] = square;
        to.qs[p] = square * rho_i;
        more(p);
      }
    }
  }
}

/// Adds the differences of the fluxes along a direction: second ones of what diffuses, central ones of what is
/// carried along.
template <int Direction, typename Field>
void add_fluxes(const Cube& cube, Field u, const Derived& from, Field rhs) {
  constexpr int k_along = Direction + 1;  // the momentum along the direction
  const std::ptrdiff_t s = cube.stride<Direction>();
  const double first = 0.5 * (cube.n - 1);
  const double second = static_cast<double>(cube.n - 1) * (cube.n - 1);
  const double diffusion = k_diffusion[Direction] * second;
  const double viscosity = k_viscosity * second;
  const double* const velocities[] = {from.us, from.vs, from.ws};
  const double* const qs = from.qs;
  const double* const rho_i = from.rho_i;
  const double* const square = from.square;
  const double* const v = velocities[Direction];
  const auto bend = [](double left, double here, double right) { return right - 2.0 * here + left; };
#pragma omp parallel for schedule(static)
  for (int k = cube.inside[2].begin; k < cube.inside[2].end; ++k) {
    for (int j = cube.inside[1].begin; j < cube.inside[1].end; ++j) {
      for (int i = cube.inside[0].begin; i < cube.inside[0].end; ++i) {
        const std::ptrdiff_t p = cube.at(i, j, k);
        const std::ptrdiff_t l = p - s;
        const std::ptrdiff_t r = p + s;
        State change;
#pragma GCC unroll 5
        for (int m = 0; m < k_unknowns; ++m) change[m] = diffusion * bend(u(m, l), u(m, p), u(m, r));
        change[0] -= first * (u(k_along, r) - u(k_along, l));
#pragma GCC unroll 3
        for (int m = 1; m <= 3; ++m) {
          const double* const w = velocities[m - 1];
          const double friction = m == k_along ? k_stretch * viscosity : viscosity;
          change[m] += friction * bend(w[l], w[p], w[r]) - first * (u(m, r) * v[r] - u(m, l) * v[l]);
        }
        change[k_along] -= first * k_pressure * ((u(4, r) - square[r]) - (u(4, l) - square[l]));
        change[4] += viscosity * ((1.0 - k_conduction) * bend(qs[l], qs[p], qs[r]) +
                                  (1.0 / 6.0) * bend(v[l] * v[l], v[p] * v[p], v[r] * v[r]) +
                                  k_conduction * bend(u(4, l) * rho_i[l], u(4, p) * rho_i[p], u(4, r) * rho_i[r]));
        change[4] -= first * ((k_gamma * u(4, r) - k_pressure * square[r]) * v[r] -
                              (k_gamma * u(4, l) - k_pressure * square[l]) * v[l]);
#pragma GCC unroll 5
        for (int m = 0; m < k_unknowns; ++m) rhs(m, p) += change[m];
      }
    }
  }
}

/// Calls work(m, point) for the points of `box`, in the order of storage: for all unknowns of a point, or for all
/// points of an unknown.
template <typename Field, typename Work>
void sweep(const Cube& cube, const std::array<Range, 3>& box, Work work) {
  for (int first = 0; first < k_unknowns; first += Field::k_at_once) {
#pragma omp parallel for schedule(static)
    for (int k = box[2].begin; k < box[2].end; ++k) {
      for (int j = box[1].begin; j < box[1].end; ++j) {
        for (int i = box[0].begin; i < box[0].end; ++i) {
#pragma GCC unroll 5
          for (int m = first; m < first + Field::k_at_once; ++m) work(m, cube.at(i, j, k));
        }
      }
    }
  }
}

/// All of it. `more` is derive()'s.
template <typename Field, typename More>
[[gnu::noinline]] void compute_rhs(const Cube& cube, double dt, Field u, Field forcing, const Derived& derived,
                                   Field rhs, More more) {
  derive(cube, u, derived, more);
  sweep<Field>(cube, cube.stored, [&](int m, std::ptrdiff_t p) { rhs(m, p) = forcing(m, p); });
  add_fluxes<0>(cube, u, derived, rhs);
  dissipate<0>(cube, u, rhs);
  add_fluxes<1>(cube, u, derived, rhs);
  dissipate<1>(cube, u, rhs);
  add_fluxes<2>(cube, u, derived, rhs);
  dissipate<2>(cube, u, rhs);
  sweep<Field>(cube, cube.inside, [&](int m, std::ptrdiff_t p) { rhs(m, p) *= dt; });
}

/// The forcing that makes the exact solution the steady state: minus what the fluxes' differences are there.
/// u and rhs are left as they come.
template <typename Field, typename More>
void compute_forcing(const Cube& cube, Field u, Field forcing, const Derived& derived, Field rhs, More more) {
  fill(cube, u, exact_at);
  sweep<Field>(cube, cube.stored, [&](int m, std::ptrdiff_t p) { forcing(m, p) = 0.0; });
  compute_rhs(cube, 1.0, u, forcing, derived, rhs, more);
  sweep<Field>(cube, cube.inside, [&](int m, std::ptrdiff_t p) { forcing(m, p) = -rhs(m, p); });
}

/// u = u + rhs.
template <typename Field>
[[gnu::noinline]] void add(const Cube& cube, Field u, Field rhs) {
  sweep<Field>(cube, cube.inside, [&](int m, std::ptrdiff_t p) { u(m, p) += rhs(m, p); });
}

}  // namespace cfd
