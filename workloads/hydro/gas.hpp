// Declares hydro's gas on a moving mesh: the fields of its points and zones, and the kernels of a Lagrangian step.
//
// Source: Caramana, Burton, Shashkov and Whalen, "The construction of compatible hydrodynamics algorithms
// utilizing conservation of total energy", J. Comput. Phys. 146, 1998: velocities at points, energies in zones,
// and between them the forces of each corner; a zone's energy changes by the work of these forces, so that the
// total is kept to rounding. Artificial viscosity acts along the zones' edges: Caramana, Shashkov and Whalen, J.
// Comput. Phys. 144, 1998, without its limiter, and in Kurapatenko's form.
#pragma once

#include <cstdint>
#include <vector>

#include "hydro/mesh.hpp"

namespace hydro {

constexpr double k_gamma = 1.4;

struct Gas {
  // Indexed by point; `_0` is the value at the start of the step.
  std::vector<Vector> position, position_0;
  std::vector<Vector> velocity, velocity_0;
  std::vector<double> point_mass;
  // Indexed by zone; energies are for each unit of mass.
  std::vector<double> zone_mass;
  std::vector<double> energy, energy_0;
  std::vector<double> density;
  std::vector<double> pressure;
  std::vector<double> sound;  // speed
  // Indexed by corner.
  std::vector<Vector> force;
};

/// A gas of density 1 at rest, with `energy` in each zone.
Gas make_gas(const Mesh& mesh, std::vector<Vector> positions, std::vector<double> energy);

/// Keeps what the step begins with; returns the longest step that is stable.
double begin_step(const Mesh& mesh, Gas& gas);

/// The corners' forces, of pressure and of viscosity, from the zones' state and the points' velocities.
void find_forces(const Mesh& mesh, Gas& gas);

/// Moves the points from where the step began by `dt`.
void move_points(const Mesh& mesh, Gas& gas, double dt);

/// Brings the zones from where the step began by `dt`: the work done on them, and the equation of state.
void update_zones(const Mesh& mesh, Gas& gas, double dt);

/// A half-open interval of numbers of zones or points.
struct Numbers {
  std::uint64_t begin;
  std::uint64_t end;
};

/// Returns the internal energy of some zones and the kinetic energy of some points.
double energy_of(const Gas& gas, Numbers zones, Numbers points);

}  // namespace hydro
