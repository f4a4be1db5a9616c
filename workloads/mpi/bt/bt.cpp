// SPDX-License-Identifier: Apache-2.0
// NPB BT with MPI (bt/program.hpp): the grid is divided along y and z, and lines in these directions are solved in
// a pipeline over the ranks. Source: Bailey et al., RNR-94-007 (1994), section 3.
#include "bt/program.hpp"
#include "mpi/cfd/line_pipeline.hpp"

namespace bt {
namespace {

template <int Direction>
struct Lines {
  double dt;
  const Fields& fields;

  void eliminate(const cfd::Cube& part) const { eliminate_lines<Direction>(part, dt, fields); }
  void substitute(const cfd::Cube& part) const { substitute_lines<Direction>(part, fields); }

  template <typename Pass>
  void eliminated(Pass pass, std::ptrdiff_t p) const {
    constexpr int k_block = cfd::k_unknowns * cfd::k_unknowns;
    for (int e = 0; e < k_block; ++e) pass(fields.lhsc[k_block * p + e]);
    solved(pass, p);
  }

  template <typename Pass>
  void solved(Pass pass, std::ptrdiff_t p) const {
    for (int m = 0; m < cfd::k_unknowns; ++m) pass(fields.rhs(m, p));
  }
};

struct Pipelined {
  const cfd::Partition& partition;
  cfd::LinePipeline pipeline{partition, 1};

  void exchange(const cfd::Cube& cube, cfd::Together u) { cfd::exchange_halo(partition, cube, u); }
  void y_solve(const cfd::Cube& cube, double dt, const Fields& fields) {
    pipeline.solve<1>(cube, Lines<1>{dt, fields});
  }
  void z_solve(const cfd::Cube& cube, double dt, const Fields& fields) {
    pipeline.solve<2>(cube, Lines<2>{dt, fields});
  }
};

}  // namespace
}  // namespace bt

int main(int argc, char** argv) {
  const workloads::MpiEnvironment mpi(&argc, &argv);
  const workloads::Ranks ranks(mpi);
  const auto [problem_class, iterations] = bt::parse_arguments(argc, argv, ranks);
  const cfd::Problem& problem = cfd::problem_of(bt::k_problems, problem_class);
  const cfd::Partition partition = cfd::divide(mpi, "bt", problem.side, 0);
  bt::Pipelined solver{partition};
  return bt::run(iterations, problem, partition.cube, solver, ranks);
}
