// A spectral-element solver of the incompressible Navier-Stokes equations (flow.hpp) on Walsh's eddies
// (walsh.hpp), with the data of a program such as Nek5000, whose example `eddy_uv` solves the same problem.
//
// A step of time is one iteration. Verified against the exact solution: velocity and pressure at every point
// within a bound that follows from the elements, their order and the step (velocity_bound), and so the decay of
// energy and of enstrophy; and that the velocity's divergence is as small.
#include <string>

#include "common/options.hpp"
#include "common/threads.hpp"
#include "eddy/program.hpp"

int main(int argc, char** argv) {
  eddy::Settings settings;
  workloads::Options options("eddy", "spectral elements for the Navier-Stokes equations: Walsh's eddies");
  options.count("--elements", &settings.elements, "elements along each side, 3 to 512");
  options.count("--order", &settings.order, "polynomial order of an element, 4 to 15");
  options.count("--steps", &settings.steps, "number of time steps");
  options.count("--per-unit", &settings.per_unit, "steps per unit of time; default: half a Courant number each");
  workloads::declare_threads(options, &settings.threads);
  options.parse(argc, argv);
  workloads::use_threads(options, settings.threads);
  if (const std::string wrong = eddy::complete(settings); !wrong.empty()) options.fail(wrong);
  const auto side = static_cast<std::int64_t>(settings.elements);
  const workloads::Processes alone;
  return eddy::run(settings, eddy::Part(alone, 0, side * side));
}
