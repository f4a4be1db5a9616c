// Declares the equations that BT, SP and LU solve: compressible Navier-Stokes with artificial diffusion, driven so
// that a known polynomial is their steady state. Source: Bailey et al., RNR-94-007 (1994), section 3.
#pragma once

#include <array>

#include "cfd/cube.hpp"

namespace cfd {

// RNR-94-007's constants, by what they are: c1, c2, c3 c4, c1 c5.
constexpr double k_gamma = 1.4;
constexpr double k_pressure = 0.4;       // pressure = 0.4 (energy - kinetic energy)
constexpr double k_viscosity = 0.1;      // of momentum across the direction of a difference
constexpr double k_stretch = 4.0 / 3.0;  // of that: along it
constexpr double k_conduction = 1.96;    // of that: of energy

constexpr std::array<double, 3> k_diffusion{0.75, 0.75, 1.0};  // of all unknowns, by direction
constexpr double k_dissipation = 0.25;                         // of the fourth differences

/// The steady state at (x, y, z) in the unit cube.
State exact_solution(double x, double y, double z);

/// The steady state at a point of the grid.
State exact_at(const Cube& cube, int i, int j, int k);

/// Where iterations begin: the steady state on the boundary; inside, what blends the six faces.
State initial_at(const Cube& cube, int i, int j, int k);

/// Sets every stored point to what `value(cube, i, j, k)` gives.
template <typename Field, typename Value>
void fill(const Cube& cube, Field field, Value value) {
#pragma omp parallel for schedule(static)
  for (int k = cube.stored[2].begin; k < cube.stored[2].end; ++k) {
    for (int j = cube.stored[1].begin; j < cube.stored[1].end; ++j) {
      for (int i = cube.stored[0].begin; i < cube.stored[0].end; ++i) {
        const State state = value(cube, i, j, k);
        for (int m = 0; m < k_unknowns; ++m) field(m, cube.at(i, j, k)) = state[m];
      }
    }
  }
}

}  // namespace cfd
