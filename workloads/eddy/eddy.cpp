// A spectral-element solver of the incompressible Navier-Stokes equations (flow.hpp) on Walsh's eddies (walsh.hpp).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "common/clock.hpp"
#include "common/markers.hpp"
#include "common/options.hpp"
#include "common/threads.hpp"
#include "common/verdict.hpp"
#include "eddy/flow.hpp"
#include "eddy/walsh.hpp"

namespace eddy {

struct Settings {
  std::uint64_t elements = 8;
  std::uint64_t order = 7;
  std::uint64_t steps = 20;
  std::uint64_t per_unit = 0;
  std::uint64_t threads = 1;
};

int run(const Settings& settings) {
  const auto side = static_cast<std::int64_t>(settings.elements);
  Flow flow = make_flow(side, static_cast<int>(settings.order), 1.0 / static_cast<double>(settings.per_unit));
  Findings findings{};
  const double begin = workloads::seconds();
  workloads::loop_begin("main");
  for (std::uint64_t i = 0; i < settings.steps; ++i) {
    findings = step(flow);
    if (std::getenv("EDDY_TALK")) std::printf("%d %d %d\n", findings.pressure_iterations, findings.velocity_iterations, findings.converged);
  }
  workloads::loop_end();
  const double end = workloads::seconds();
  const Errors errors = find_errors(flow);
  const double size = decay(flow.time);
  const double exact_energy = 0.5 * (k_stream_x * k_stream_x + k_stream_y * k_stream_y + k_mean_square * size * size);
  const double exact_enstrophy = 0.5 * k_eigenvalue * k_mean_square * size * size;
  std::printf("Time %14.9f s\n", end - begin);
  std::printf("t %g velocity %.3e pressure %.3e div %.3e energy %.3e enstrophy %.3e conv %d\n", flow.time, errors.velocity, errors.pressure, findings.divergence,
     findings.energy/exact_energy-1, findings.enstrophy/exact_enstrophy-1, findings.converged);
  return workloads::verdict(true);
}

}  // namespace eddy

int main(int argc, char** argv) {
  eddy::Settings settings;
  workloads::Options options("eddy", "spectral elements for the incompressible Navier-Stokes equations: Walsh's eddies");
  options.count("--elements", &settings.elements, "along each side of the square, 2 to 512 (8)");
  options.count("--order", &settings.order, "of an element's polynomials, 2 to 15 (7)");
  options.count("--steps", &settings.steps, "of time (20)");
  options.count("--per-unit", &settings.per_unit, "steps in a unit of time");
  workloads::declare_threads(options, &settings.threads);
  options.parse(argc, argv);
  workloads::use_threads(options, settings.threads);
  if (settings.per_unit == 0) settings.per_unit = std::ceil(eddy::k_most_speed / 0.25 / eddy::least_distance(settings.elements, eddy::make_basis(settings.order, 0)));
  return eddy::run(settings);
}
