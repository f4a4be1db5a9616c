// SPDX-License-Identifier: Apache-2.0
// NPB LU with MPI (lu/program.hpp): the grid is divided along x and y, so that the triangular systems are solved
// plane by plane in a wavefront over the ranks, as in the benchmark. Source: Bailey et al., RNR-94-007 (1994),
// section 3; Yarrow and Van der Wijngaart, "Communication improvement for the LU NAS parallel benchmark",
// NAS-97-032 (1997).
#include "lu/program.hpp"
#include "mpi/cfd/partition.hpp"

namespace lu {
namespace {

/// The solutions at the points of plane k with index `place` along a direction, 0 or 1.
auto edge(const cfd::Cube& cube, cfd::Together rsd, int direction, int place, int k) {
  return [=, &cube](auto pass) {
    const cfd::Range others = cube.inside[1 - direction];
    for (int other = others.begin; other < others.end; ++other) {
      const std::ptrdiff_t p = direction == 0 ? cube.at(place, other, k) : cube.at(other, place, k);
      for (int m = 0; m < cfd::k_unknowns; ++m) pass(rsd(m, p));
    }
  };
}

class Wavefront {
 public:
  explicit Wavefront(const cfd::Partition& partition) : partition_(partition) {}

  void exchange(const cfd::Cube& cube, cfd::Together u) { cfd::exchange_halo(partition_, cube, u); }

  void lower(const cfd::Cube& cube, double dt, const Fields& fields) {
    for (int k = cube.inside[2].begin; k < cube.inside[2].end; ++k) {
      for (int d : {0, 1}) {
        message_.receive(partition_.communicator, partition_.before[d],
                         edge(cube, fields.rsd, d, cube.inside[d].begin - 1, k));
      }
      lu::lower(cube.layer(2, k), dt, fields);
      for (int d : {0, 1}) {
        message_.send(partition_.communicator, partition_.after[d],
                      edge(cube, fields.rsd, d, cube.inside[d].end - 1, k));
      }
    }
  }

  void upper(const cfd::Cube& cube, double dt, const Fields& fields) {
    for (int k = cube.inside[2].end - 1; k >= cube.inside[2].begin; --k) {
      for (int d : {0, 1}) {
        message_.receive(partition_.communicator, partition_.after[d],
                         edge(cube, fields.rsd, d, cube.inside[d].end, k));
      }
      lu::upper(cube.layer(2, k), dt, fields);
      for (int d : {0, 1}) {
        message_.send(partition_.communicator, partition_.before[d],
                      edge(cube, fields.rsd, d, cube.inside[d].begin, k));
      }
    }
  }

 private:
  const cfd::Partition& partition_;
  workloads::PackedMessage message_;
};

}  // namespace
}  // namespace lu

int main(int argc, char** argv) {
  const workloads::MpiEnvironment mpi(&argc, &argv);
  const workloads::Ranks ranks(mpi);
  const auto [problem_class, iterations] = lu::parse_arguments(argc, argv, ranks);
  const cfd::Problem& problem = cfd::problem_of(lu::k_problems, problem_class);
  const cfd::Partition partition = cfd::divide(mpi, "lu", problem.side, 2);
  lu::Wavefront wavefront(partition);
  return lu::run(iterations, problem, partition.cube, wavefront, ranks);
}
