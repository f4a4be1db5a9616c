// Implements hydro's kernels. None is inlined, so that each keeps its name at run time. Points gather what zones
// wrote, and zones what points wrote, each sum in one order: the result does not depend on the number of threads.
#include "hydro/gas.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace hydro {
namespace {

// Coefficients of the viscosity: its part that is linear in the velocity's jump, and its quadratic part.
constexpr double k_linear = 1.0;
constexpr double k_quadratic = 1.0;
// Limits of a step: the distance of sound, in lengths of a zone, and the relative change of a zone's volume.
constexpr double k_courant = 0.4;
constexpr double k_volume_change = 0.1;

using Corners = std::array<Vector, 4>;

Corners gather(const std::vector<Vector>& values, const std::array<std::uint32_t, 4>& points) {
  return {values[points[0]], values[points[1]], values[points[2]], values[points[3]]};
}

/// How the volume of a zone grows as its corner c moves.
Vector volume_gradient(const Corners& at, int c) {
  const Vector across = at[(c + 1) % 4] - at[(c + 3) % 4];
  return {0.5 * across.y, -0.5 * across.x};
}

double volume_of(const Corners& at) {
  const Vector a = at[2] - at[0];
  const Vector b = at[3] - at[1];
  return 0.5 * (a.x * b.y - a.y * b.x);
}

/// The viscous force on point `c` of an edge that is being compressed; its other end gets the opposite.
Vector viscous_force(const Corners& at, const Corners& velocity, int c, Vector centre, double density,
                     double sound) {
  const int d = (c + 1) % 4;
  const Vector jump = velocity[d] - velocity[c];
  // The normal, towards d, of the line from the edge's middle to the zone's centre.
  const Vector median = centre - 0.5 * (at[c] + at[d]);
  const double closing = -dot(jump, {median.y, -median.x});
  if (!(closing > 0.0)) return {};
  const double speed = std::sqrt(dot(jump, jump));
  const double quadratic = k_quadratic * (k_gamma + 1.0) / 4.0 * speed;
  const double linear = k_linear * sound;
  const double q = density * speed * (quadratic + std::sqrt(quadratic * quadratic + linear * linear));
  return (q * closing / (speed * speed)) * jump;
}

void apply_state(Gas& gas, std::uint64_t zone, double volume) {
  gas.density[zone] = gas.zone_mass[zone] / volume;
  gas.pressure[zone] = (k_gamma - 1.0) * gas.density[zone] * std::max(gas.energy[zone], 0.0);
  gas.sound[zone] = std::sqrt(k_gamma * gas.pressure[zone] / gas.density[zone]);
}

}  // namespace

Gas make_gas(const Mesh& mesh, std::vector<Vector> positions, std::vector<double> energy) {
  Gas gas;
  gas.position = std::move(positions);
  gas.position_0 = gas.position;
  gas.velocity.resize(mesh.points());
  gas.velocity_0.resize(mesh.points());
  gas.point_mass.resize(mesh.points());
  gas.zone_mass.resize(mesh.zones());
  gas.energy = std::move(energy);
  gas.energy_0 = gas.energy;
  gas.density.resize(mesh.zones());
  gas.pressure.resize(mesh.zones());
  gas.sound.resize(mesh.zones());
  gas.force.resize(mesh.corners());
  for (std::uint64_t zone = 0; zone < mesh.zones(); ++zone) {
    const double volume = volume_of(gather(gas.position, mesh.zone_points[zone]));
    gas.zone_mass[zone] = volume;
    apply_state(gas, zone, volume);
    for (const std::uint32_t point : mesh.zone_points[zone]) gas.point_mass[point] += 0.25 * volume;
  }
  return gas;
}

[[gnu::noinline]] double begin_step(const Mesh& mesh, Gas& gas) {
  const std::uint64_t points = mesh.points();
#pragma omp parallel for schedule(static)
  for (std::uint64_t point = 0; point < points; ++point) {
    gas.position_0[point] = gas.position[point];
    gas.velocity_0[point] = gas.velocity[point];
  }
  const std::uint64_t zones = mesh.zones();
  double longest = 1.0;
#pragma omp parallel for schedule(static) reduction(min : longest)
  for (std::uint64_t zone = 0; zone < zones; ++zone) {
    gas.energy_0[zone] = gas.energy[zone];
    const Corners at = gather(gas.position, mesh.zone_points[zone]);
    const Corners velocity = gather(gas.velocity, mesh.zone_points[zone]);
    double growth = 0.0;
    double longest_edge = 0.0;  // squared
    double jump = 0.0;          // squared
    for (int c = 0; c < 4; ++c) {
      const Vector edge = at[(c + 1) % 4] - at[c];
      const Vector change = velocity[(c + 1) % 4] - velocity[c];
      growth += dot(volume_gradient(at, c), velocity[c]);
      longest_edge = std::max(longest_edge, dot(edge, edge));
      jump = std::max(jump, dot(change, change));
    }
    const double volume = volume_of(at);
    const double width = volume / std::sqrt(longest_edge);
    longest = std::min(longest, k_courant * width / (gas.sound[zone] + 2.0 * std::sqrt(jump) + 1e-30));
    longest = std::min(longest, k_volume_change * volume / (std::abs(growth) + 1e-30));
  }
  return longest;
}

[[gnu::noinline]] void find_forces(const Mesh& mesh, Gas& gas) {
  const std::uint64_t zones = mesh.zones();
#pragma omp parallel for schedule(static)
  for (std::uint64_t zone = 0; zone < zones; ++zone) {
    const Corners at = gather(gas.position, mesh.zone_points[zone]);
    const Corners velocity = gather(gas.velocity, mesh.zone_points[zone]);
    const Vector centre = 0.25 * (at[0] + at[1] + at[2] + at[3]);
    Corners force;
    for (int c = 0; c < 4; ++c) force[c] = gas.pressure[zone] * volume_gradient(at, c);
    for (int c = 0; c < 4; ++c) {
      const Vector viscous = viscous_force(at, velocity, c, centre, gas.density[zone], gas.sound[zone]);
      force[c] = force[c] + viscous;
      force[(c + 1) % 4] = force[(c + 1) % 4] - viscous;
    }
    for (int c = 0; c < 4; ++c) gas.force[4 * zone + c] = force[c];
  }
}

[[gnu::noinline]] void move_points(const Mesh& mesh, Gas& gas, double dt) {
  const std::uint64_t points = mesh.points();
#pragma omp parallel for schedule(static)
  for (std::uint64_t point = 0; point < points; ++point) {
    Vector force;
    for (std::uint32_t i = mesh.first_corner[point]; i < mesh.first_corner[point + 1]; ++i) {
      force = force + gas.force[mesh.point_corners[i]];
    }
    if ((mesh.walls[point] & k_wall_x) != 0) force.x = 0.0;
    if ((mesh.walls[point] & k_wall_y) != 0) force.y = 0.0;
    const Vector before = gas.velocity_0[point];
    const Vector after = before + (dt / gas.point_mass[point]) * force;
    gas.velocity[point] = after;
    gas.position[point] = gas.position_0[point] + (0.5 * dt) * (before + after);
  }
}

[[gnu::noinline]] void update_zones(const Mesh& mesh, Gas& gas, double dt) {
  const std::uint64_t zones = mesh.zones();
#pragma omp parallel for schedule(static)
  for (std::uint64_t zone = 0; zone < zones; ++zone) {
    const Corners before = gather(gas.velocity_0, mesh.zone_points[zone]);
    const Corners after = gather(gas.velocity, mesh.zone_points[zone]);
    double power = 0.0;
    for (int c = 0; c < 4; ++c) power += dot(gas.force[4 * zone + c], 0.5 * (before[c] + after[c]));
    gas.energy[zone] = gas.energy_0[zone] - dt * power / gas.zone_mass[zone];
    apply_state(gas, zone, volume_of(gather(gas.position, mesh.zone_points[zone])));
  }
}

double energy_of(const Gas& gas, Numbers zones, Numbers points) {
  double total = 0.0;
  for (std::uint64_t zone = zones.begin; zone < zones.end; ++zone) total += gas.zone_mass[zone] * gas.energy[zone];
  for (std::uint64_t point = points.begin; point < points.end; ++point) {
    total += 0.5 * gas.point_mass[point] * dot(gas.velocity[point], gas.velocity[point]);
  }
  return total;
}

}  // namespace hydro
