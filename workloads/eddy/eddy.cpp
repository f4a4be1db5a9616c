// A spectral-element solver of the incompressible Navier-Stokes equations (flow.hpp) on Walsh's eddies
// (walsh.hpp), with the data of a program such as Nek5000, whose example `eddy_uv` solves the same problem.
//
// A step of time is one iteration. Verified against the exact solution: velocity and pressure at every point
// within a bound that follows from the elements, their order and the step (velocity_bound), and so the decay of
// energy and of enstrophy; and that the velocity's divergence is as small.
#include "eddy/program.hpp"

int main(int argc, char** argv) {
  const eddy::Settings settings = eddy::parse_settings(argc, argv, true);
  const auto side = static_cast<std::int64_t>(settings.elements);
  const workloads::Processes alone;
  return eddy::run(settings, eddy::Part(alone, 0, side * side));
}
