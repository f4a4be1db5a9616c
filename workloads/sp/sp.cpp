// NPB SP: an implicit solver of the compressible Navier-Stokes equations by approximate factorisation in
// characteristic variables, with scalar pentadiagonal systems along the three directions. Source: Bailey et al.,
// RNR-94-007 (1994), section 3.
//
// An iteration is a step in pseudo-time, with the phases rhs, txinvr, x_solve, ninvr, y_solve, pinvr, z_solve,
// tzetar, add. The arrays are those of the benchmark's version for several processes as one of them holds the
// whole grid, without ghost layers.
#include "sp/program.hpp"

int main(int argc, char** argv) {
  const workloads::Processes alone;
  const auto [problem_class, iterations] = sp::parse_arguments(argc, argv, alone);
  const cfd::Problem& problem = cfd::problem_of(sp::k_problems, problem_class);
  sp::Alone solver;
  return sp::run(iterations, problem, cfd::Cube(problem.side), solver, alone);
}
