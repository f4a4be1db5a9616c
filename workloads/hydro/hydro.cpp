// Lagrangian hydrodynamics on an unstructured mesh of quadrilaterals (gas.hpp): the Sedov blast wave from a line,
// in a quarter of the plane. Energy E is set free at the origin of a cold gas of density 1; its shock is a circle
// of radius (E t^2 / alpha)^(1/4). Source of the solution and of alpha: Sedov, "Similarity and dimensional methods
// in mechanics", 1959, chapter IV; Kamm and Timmes, "On efficient generation of numerically robust Sedov
// solutions", LA-UR-07-2849, 2007, whose E = 0.311357 puts the shock at 0.75 at time 1, which is alpha = 0.98404
// for gamma = 7/5.
//
// A step is one iteration: it moves the gas by half the time, and with the forces found there by the whole.
// Verified: the total energy, to rounding; that no zone turned inside out; the shock's radius, once it is ten
// zones wide, to 1 % and half a zone.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numbers>
#include <vector>

#include "common/clock.hpp"
#include "common/markers.hpp"
#include "common/options.hpp"
#include "common/threads.hpp"
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

double exact_radius(double time) { return std::pow(k_energy * time * time / k_alpha, 0.25); }

/// The radius of the mass that the shock has reached, which is what has pressure. At the centre that is 0.37 of
/// the pressure behind the shock, so less than that tells which zones count.
double shock_radius(const Mesh& mesh, const Gas& gas, double time) {
  const double speed = exact_radius(time) / (2.0 * time);
  const double behind = 2.0 / (k_gamma + 1.0) * speed * speed;
  double mass = 0.0;
  for (std::uint64_t zone = 0; zone < mesh.zones(); ++zone) {
    if (gas.pressure[zone] > 0.2 * behind) mass += gas.zone_mass[zone];
  }
  return std::sqrt(4.0 * mass / std::numbers::pi);
}

void step(const Mesh& mesh, Gas& gas, double dt) {
  for (const double part : {0.5 * dt, dt}) {
    workloads::phase("forces");
    find_forces(mesh, gas);
    workloads::phase("move");
    move_points(mesh, gas, part);
    workloads::phase("zones");
    update_zones(mesh, gas, part);
  }
}

int run(const Settings& settings) {
  const Mesh mesh = make_square(settings.side);
  std::vector<double> energy(mesh.zones(), k_cold);
  const double zone_mass = 1.0 / static_cast<double>(mesh.zones());
  energy[0] = 0.25 * k_energy / zone_mass;
  Gas gas = make_gas(mesh, square_positions(settings.side), energy);
  const double energy_before = total_energy(mesh, gas);

  // 20 steps for each zone along a side are enough; a gas gone wrong would want ever shorter ones.
  const std::uint64_t most = settings.steps != 0 ? settings.steps : 1000 * settings.side;
  double time = 0.0;
  double last = 0.0;
  std::uint64_t steps = 0;
  const double begin = workloads::seconds();
  workloads::loop_begin("main");
  while (time < k_end && steps < most) {
    workloads::phase("begin");
    double dt = begin_step(mesh, gas);
    // The first steps are short, and no step is much longer than the last.
    dt = std::min(steps == 0 ? 0.01 * dt : 1.2 * last, dt);
    last = dt;
    dt = std::min(dt, k_end - time);
    step(mesh, gas, dt);
    time += dt;
    ++steps;
  }
  workloads::loop_end();
  const double end = workloads::seconds();

  constexpr double k_energy_tolerance = 1e-12;
  const double energy_error = std::abs(total_energy(mesh, gas) / energy_before - 1.0);
  const double exact = exact_radius(time);
  const double radius = shock_radius(mesh, gas, time);
  const double radius_error = std::abs(radius / exact - 1.0);
  const double zones_wide = exact * static_cast<double>(settings.side);
  const bool wide = zones_wide >= 10.0;
  const double radius_tolerance = 0.01 + 0.5 / zones_wide;
  const double min_density = *std::min_element(gas.density.begin(), gas.density.end());
  const bool arrived = time >= k_end || settings.steps != 0;
  const bool verified = arrived && energy_error <= k_energy_tolerance && min_density > 0.0 &&
                        (!wide || radius_error <= radius_tolerance);

  std::printf("Hydro: Sedov blast wave, %llu zones, %llu points, %llu steps to time %.9f\n",
              static_cast<unsigned long long>(mesh.zones()), static_cast<unsigned long long>(mesh.points()),
              static_cast<unsigned long long>(steps), time);
  std::printf("Time %14.9f s %14.0f zones a second\n", end - begin,
              static_cast<double>(mesh.zones()) * static_cast<double>(steps) / (end - begin));
  std::printf("Energy: relative error %.3e, tolerance %.0e\n", energy_error, k_energy_tolerance);
  std::printf("Shock radius %.12f, exact %.12f, relative error %.3e, tolerance %.3e%s\n", radius, exact,
              radius_error, radius_tolerance, wide ? "" : ": not checked, below ten zones");
  return workloads::verdict(verified);
}

}  // namespace hydro

int main(int argc, char** argv) {
  hydro::Settings settings;
  workloads::Options options("hydro", "Lagrangian hydrodynamics on an unstructured mesh: the Sedov blast wave");
  options.count("--side", &settings.side, "zones along each side of the square, 16 to 16384");
  options.count("--steps", &settings.steps,
                "maximum number of steps; default: until time 1, when the shock is at radius 0.75");
  workloads::declare_threads(options, &settings.threads);
  options.parse(argc, argv);
  workloads::use_threads(options, settings.threads);
  if (settings.side < 16 || settings.side > 16384) options.fail("--side: from 16 to 16384");
  return hydro::run(settings);
}
