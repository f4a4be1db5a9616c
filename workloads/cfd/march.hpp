// Implements the main loop of the programs BT and SP: steps in pseudo-time, markers of phases, and verification.
#pragma once

#include "cfd/rhs.hpp"
#include "cfd/verification.hpp"
#include "common/clock.hpp"
#include "common/markers.hpp"

namespace cfd {

/// Marches to the steady state and returns the program's exit status. `step` has the cube and the fields;
/// compute_rhs() and solve_and_add() are an iteration's two parts.
template <typename Step>
int march(const std::string& name, const Step& step, const Problem& problem, std::uint64_t iterations,
          const Operations& operations, const workloads::Processes& processes) {
  const Cube& cube = step.cube;
  const auto u = step.fields.u;
  const auto rhs = step.fields.rhs;
  const auto measure = [&] {
    Norms norms{residual_norm(cube, processes, rhs), error_norm(cube, processes, u)};
    for (double& value : norms.residual) value /= problem.dt;
    return norms;
  };

  // The benchmark runs one iteration before it starts its clock, then begins again.
  fill(cube, u, initial_at);
  step.compute_rhs();
  step.solve_and_add();
  fill(cube, u, initial_at);

  Norms norms;
  const double begin = workloads::seconds();
  workloads::loop_begin("main");
  for (std::uint64_t iteration = 1; iteration <= iterations; ++iteration) {
    workloads::phase("rhs");
    step.compute_rhs();
    // The residual that an iteration leaves is what the next one begins with.
    if (iteration == problem.iterations + 1) norms = measure();
    step.solve_and_add();
  }
  workloads::loop_end();
  const double end = workloads::seconds();
  if (iterations == problem.iterations) {
    step.compute_rhs();
    norms = measure();
  }
  return report(name, problem, iterations, end - begin, operations, norms, processes);
}

}  // namespace cfd
