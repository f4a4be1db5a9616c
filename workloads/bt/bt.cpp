// NPB BT: an implicit solver of the compressible Navier-Stokes equations by approximate factorisation, with 5 x 5
// block-tridiagonal systems along the three directions. Source: Bailey et al., RNR-94-007 (1994), section 3.
//
// An iteration is a step in pseudo-time, with the phases rhs, x_solve, y_solve, z_solve, add. The arrays are those
// of the benchmark's version for several processes as one of them holds the whole grid, without ghost layers.
#include "bt/program.hpp"

int main(int argc, char** argv) {
  const workloads::Processes alone;
  const auto [problem_class, iterations] = bt::parse_arguments(argc, argv, alone);
  const cfd::Problem& problem = cfd::problem_of(bt::k_problems, problem_class);
  bt::Alone solver;
  return bt::run(iterations, problem, cfd::Cube(problem.side), solver, alone);
}
