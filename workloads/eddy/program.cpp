// SPDX-License-Identifier: Apache-2.0
// Implements eddy's main loop and verification. See program.hpp.
#include "eddy/program.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "common/clock.hpp"
#include "common/markers.hpp"
#include "common/verdict.hpp"
#include "eddy/flow.hpp"
#include "eddy/walsh.hpp"

namespace eddy {
namespace {

// The longest step that is stable, and the default, in the time in which the fastest flow comes from point to
// point.
constexpr double k_max_courant = 1.0;
constexpr double k_courant = 0.5;

constexpr std::uint64_t k_min_order = 4;  // below, velocity_bound would not hold

/// The largest error of the velocity that comes from space. Twice what interpolating a wave at Chebyshev's N + 1
/// points of an element leaves: falls faster than any power of the order. The wave has number 7, not the eddies'
/// 5, since the mesh is curved and the pressure has squares.
double space_bound(const Settings& settings) {
  const double angle = 7.0 * std::numbers::pi / static_cast<double>(settings.elements);  // of half an element
  const auto order = static_cast<double>(settings.order);
  return 2.0 * std::pow(angle, order + 1.0) / (std::pow(2.0, order) * std::tgamma(order + 2.0));
}

/// And that which comes from time, third order: what a point sees changes by up to 5 (1 + 0.3) radians in a unit
/// of time, and not by 8. The last part is what solvers leave.
double velocity_bound(const Settings& settings) {
  const double turned = 8.0 / static_cast<double>(settings.per_unit);
  return space_bound(settings) + turned * turned * turned +
         20.0 * k_velocity_tolerance * static_cast<double>(settings.steps);
}

/// Prints a figure and its limit. Returns whether it is within that.
bool check(const char* name, double value, double bound) {
  std::printf("%-22s %.3e, at most %.3e\n", name, value, bound);
  // A NaN compares false, so it fails.
  return value <= bound;
}

bool verify(const Settings& settings, const Errors& errors, const Flow& flow, const Findings& last) {
  const double size = decay(flow.time);
  const double eddies = 0.5 * k_mean_square;
  const double stream = 0.5 * (k_stream_x * k_stream_x + k_stream_y * k_stream_y);
  const double energy_error = std::abs(last.energy - (stream + eddies * size * size)) / (stream + eddies);
  const double enstrophy_error = std::abs(last.enstrophy / (k_eigenvalue * eddies) - size * size);

  // Waves of number 7 and less, and the pressure's squares, have ten times the velocity's slope at most.
  const double bound = velocity_bound(settings);
  const double solver = 10.0 * k_velocity_tolerance / flow.dt;
  bool verified = check("Velocity error", errors.velocity, bound);
  verified &= check("Pressure error", errors.pressure, 10.0 * bound + solver);
  verified &= check("Divergence", last.divergence, 10.0 * bound);
  verified &= check("Energy error", energy_error, bound);
  verified &= check("Enstrophy error", enstrophy_error, 10.0 * bound);
  return verified;
}

}  // namespace

std::string complete(Settings& settings) {
  if (settings.elements < 3 || settings.elements > 512) return "--elements: from 3 to 512";
  if (settings.order < k_min_order || settings.order > k_max_order) {
    return "--order: from " + std::to_string(k_min_order) + " to " + std::to_string(k_max_order);
  }
  if (space_bound(settings) > 0.1) {
    return "--elements " + std::to_string(settings.elements) + " of --order " + std::to_string(settings.order) +
           " are too coarse for the eddies: take more, or a higher order";
  }
  const Basis basis = make_basis(static_cast<int>(settings.order), 0.0);
  const double crossings = k_max_speed / min_distance(static_cast<std::int64_t>(settings.elements), basis);
  const double least = std::ceil(crossings / k_max_courant);
  if (settings.per_unit == 0) settings.per_unit = static_cast<std::uint64_t>(std::ceil(crossings / k_courant));
  if (static_cast<double>(settings.per_unit) < least) {
    return "--per-unit: at least " + std::to_string(static_cast<std::uint64_t>(least)) +
           " with such elements, else steps are too long to be stable";
  }
  return "";
}

int run(const Settings& settings, const Part& part) {
  Flow flow = make_flow(static_cast<std::int64_t>(settings.elements), static_cast<int>(settings.order),
                        1.0 / static_cast<double>(settings.per_unit), part);
  Findings last;
  bool converged = true;
  std::uint64_t pressure_iterations = 0;
  std::uint64_t velocity_iterations = 0;
  const double begin = workloads::seconds();
  workloads::loop_begin("main");
  for (std::uint64_t i = 0; i < settings.steps; ++i) {
    last = step(flow);
    converged = converged && last.converged;
    pressure_iterations += static_cast<std::uint64_t>(last.pressure_iterations);
    velocity_iterations += static_cast<std::uint64_t>(last.velocity_iterations);
  }
  workloads::loop_end();
  const double end = workloads::seconds();

  const Errors errors = find_errors(flow);
  return part.processes().report_once([&] {
    const auto steps = static_cast<double>(settings.steps);
    std::printf("Eddy: %llu elements of order %llu, %llu steps to time %.9f\n",
                static_cast<unsigned long long>(settings.elements * settings.elements),
                static_cast<unsigned long long>(settings.order), static_cast<unsigned long long>(settings.steps),
                flow.time);
    std::printf("Time %14.9f s %14.0f points a second\n", end - begin,
                static_cast<double>(settings.elements * settings.elements) *
                    static_cast<double>(flow.mesh.points()) * steps / (end - begin));
    if (settings.shows_solvers) {
      std::printf("Iterations a step: pressure %.1f, velocity %.1f%s\n",
                  static_cast<double>(pressure_iterations) / steps,
                  static_cast<double>(velocity_iterations) / steps, converged ? "" : "; not converged");
    }
    return workloads::verdict(verify(settings, errors, flow, last) && converged);
  });
}

}  // namespace eddy
