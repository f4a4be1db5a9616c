// SPDX-License-Identifier: Apache-2.0
// NPB SP with MPI (sp/program.hpp): the grid is divided along y and z, and lines in these directions are solved in
// a pipeline over the ranks. Source: Bailey et al., RNR-94-007 (1994), section 3.
#include "mpi/cfd/line_pipeline.hpp"
#include "sp/program.hpp"

namespace sp {
namespace {

template <int Direction>
struct Lines {
  double dt;
  const Fields& fields;

  void eliminate(const cfd::Cube& part) const { eliminate_lines<Direction>(part, dt, fields); }
  void substitute(const cfd::Cube& part) const { substitute_lines<Direction>(part, fields); }

  template <typename Pass>
  void eliminated(Pass pass, std::ptrdiff_t p) const {
    for (int number = 0; number < k_matrices; ++number) {
      const cfd::Apart bands = matrix(fields, number);
      pass(bands(3, p));
      pass(bands(4, p));
    }
    solved(pass, p);
  }

  template <typename Pass>
  void solved(Pass pass, std::ptrdiff_t p) const {
    for (int m = 0; m < cfd::k_unknowns; ++m) pass(fields.rhs(m, p));
  }
};

struct Pipelined {
  const cfd::Partition& partition;
  cfd::LinePipeline pipeline{partition, 2};

  void exchange(const cfd::Cube& cube, cfd::Apart u) { cfd::exchange_halo(partition, cube, u); }
  void y_solve(const cfd::Cube& cube, double dt, const Fields& fields) {
    pipeline.solve<1>(cube, Lines<1>{dt, fields});
  }
  void z_solve(const cfd::Cube& cube, double dt, const Fields& fields) {
    pipeline.solve<2>(cube, Lines<2>{dt, fields});
  }
};

}  // namespace
}  // namespace sp

int main(int argc, char** argv) {
  const workloads::MpiEnvironment mpi(&argc, &argv);
  const workloads::Ranks ranks(mpi);
  const auto [problem_class, iterations] = sp::parse_arguments(argc, argv, ranks);
  const cfd::Problem& problem = cfd::problem_of(sp::k_problems, problem_class);
  const cfd::Partition partition = cfd::divide(mpi, "sp", problem.side, 0);
  sp::Pipelined solver{partition};
  return sp::run(iterations, problem, partition.cube, solver, ranks);
}
