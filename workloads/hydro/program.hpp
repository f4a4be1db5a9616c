// SPDX-License-Identifier: Apache-2.0
// Implements hydro's main loop and verification, for one process and for several that divide the mesh into strips.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numbers>
#include <vector>

#include "common/clock.hpp"
#include "common/markers.hpp"
#include "common/processes.hpp"
#include "common/verdict.hpp"
#include "hydro/gas.hpp"

namespace hydro {

constexpr double k_energy = 0.311357;  // of the whole plane, for each unit of length along the line
constexpr double k_alpha = 0.98404;
constexpr double k_end = 1.0;
constexpr double k_cold = 1e-9;  // energy of each unit of mass of the gas at rest

struct Settings {
  std::uint64_t side = 64;
  std::uint64_t steps = 0;
  std::uint64_t threads = 1;
};

inline double exact_radius(double time) { return std::pow(k_energy * time * time / k_alpha, 0.25); }

/// The radius of the mass that the shock has reached, which is what has pressure. At the centre that is 0.37 of
/// the pressure behind the shock, so less than that tells which zones count.
inline double shock_radius(const Mesh& mesh, const Gas& gas, const workloads::Processes& processes, double time) {
  const double speed = exact_radius(time) / (2.0 * time);
  const double behind = 2.0 / (k_gamma + 1.0) * speed * speed;
  double mass = 0.0;
  for (std::uint64_t zone = 0; zone < mesh.zones(); ++zone) {
    if (gas.pressure[zone] > 0.2 * behind) mass += gas.zone_mass[zone];
  }
  return std::sqrt(4.0 * processes.sum(mass) / std::numbers::pi);
}

/// The neighbours of a process that has the whole mesh.
struct Alone {
  void complete_masses(Gas&) const {}
  void exchange_forces(Gas&) const {}
  double total_energy(const Mesh& mesh, const Gas& gas) const {
    return energy_of(gas, {0, mesh.zones()}, {0, mesh.points()});
  }
};

template <typename Neighbours>
void step(const Mesh& mesh, Neighbours& neighbours, Gas& gas, double dt) {
  for (const double part : {0.5 * dt, dt}) {
    workloads::phase("forces");
    find_forces(mesh, gas);
    neighbours.exchange_forces(gas);
    workloads::phase("move");
    move_points(mesh, gas, part);
    workloads::phase("zones");
    update_zones(mesh, gas, part);
  }
}

struct Outcome {
  int status;  // of the program's exit
  std::uint64_t steps;
};

/// Runs hydro on a process's rows of the mesh.
///
/// neighbours.complete_masses() adds to the masses of shared points what the neighbours' zones give them;
/// exchange_forces() exchanges the forces of corners in these points; total_energy() counts them once.
template <typename Neighbours>
Outcome run(const Settings& settings, Rows rows, Neighbours& neighbours, const workloads::Processes& processes) {
  const Mesh mesh = make_strip(settings.side, rows);
  const std::uint64_t all_zones = settings.side * settings.side;
  std::vector<double> energy(mesh.zones(), k_cold);
  const double zone_mass = 1.0 / static_cast<double>(all_zones);
  if (rows.begin == 0) energy[0] = 0.25 * k_energy / zone_mass;
  Gas gas = make_gas(mesh, strip_positions(settings.side, rows), energy);
  neighbours.complete_masses(gas);
  const double energy_before = neighbours.total_energy(mesh, gas);

  // 20 steps for each zone along a side are enough; a gas gone wrong would want ever shorter ones.
  const std::uint64_t most = settings.steps != 0 ? settings.steps : 1000 * settings.side;
  double time = 0.0;
  double last = 0.0;
  std::uint64_t steps = 0;
  const double begin = workloads::seconds();
  workloads::loop_begin("main");
  while (time < k_end && steps < most) {
    workloads::phase("begin");
    double dt = processes.minimum(begin_step(mesh, gas));
    // The first steps are short, and no step is much longer than the last.
    dt = std::min(steps == 0 ? 0.01 * dt : 1.2 * last, dt);
    last = dt;
    dt = std::min(dt, k_end - time);
    step(mesh, neighbours, gas, dt);
    time += dt;
    ++steps;
  }
  workloads::loop_end();
  const double end = workloads::seconds();

  constexpr double k_energy_tolerance = 1e-12;
  const double energy_error = std::abs(neighbours.total_energy(mesh, gas) / energy_before - 1.0);
  const double exact = exact_radius(time);
  const double radius = shock_radius(mesh, gas, processes, time);
  const double radius_error = std::abs(radius / exact - 1.0);
  const double zones_wide = exact * static_cast<double>(settings.side);
  const bool wide = zones_wide >= 10.0;
  const double radius_tolerance = 0.01 + 0.5 / zones_wide;
  const double min_density = processes.minimum(*std::min_element(gas.density.begin(), gas.density.end()));
  const bool arrived = time >= k_end || settings.steps != 0;
  const bool verified = arrived && energy_error <= k_energy_tolerance && min_density > 0.0 &&
                        (!wide || radius_error <= radius_tolerance);

  const int status = processes.report_once([&] {
    std::printf("Hydro: Sedov blast wave, %llu zones, %llu points, %llu steps to time %.9f\n",
                static_cast<unsigned long long>(all_zones),
                static_cast<unsigned long long>((settings.side + 1) * (settings.side + 1)),
                static_cast<unsigned long long>(steps), time);
    std::printf("Time %14.9f s %14.0f zones a second\n", end - begin,
                static_cast<double>(all_zones) * static_cast<double>(steps) / (end - begin));
    std::printf("Energy: relative error %.3e, tolerance %.0e\n", energy_error, k_energy_tolerance);
    std::printf("Shock radius %.12f, exact %.12f, relative error %.3e, tolerance %.3e%s\n", radius, exact,
                radius_error, radius_tolerance, wide ? "" : ": not checked, below ten zones");
    return workloads::verdict(verified);
  });
  return {status, steps};
}

}  // namespace hydro
