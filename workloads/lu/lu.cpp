// NPB LU: a solver of the compressible Navier-Stokes equations by symmetric successive over-relaxation, with 5 x 5
// block-triangular systems that are solved up and down the grid. Source: Bailey et al., RNR-94-007 (1994),
// section 3.
//
// An iteration is a step in pseudo-time, with the phases lower, upper, add, rhs. The arrays are those of the
// benchmark's version for several processes as one of them holds the whole grid, without ghost layers.
#include "lu/program.hpp"

int main(int argc, char** argv) {
  const workloads::Processes alone;
  const auto [problem_class, iterations] = lu::parse_arguments(argc, argv, alone);
  const cfd::Problem& problem = cfd::problem_of(lu::k_problems, problem_class);
  lu::Alone solver;
  return lu::run(iterations, problem, cfd::Cube(problem.side), solver, alone);
}
