// SPDX-License-Identifier: Apache-2.0
// Divides the grid of BT, SP and LU among MPI's ranks. See partition.hpp.
#include "mpi/cfd/partition.hpp"

#include <string>

namespace cfd {

Partition divide(const workloads::MpiEnvironment& mpi, const char* program, int side, int whole_direction) {
  // The ranks' grid has one rank along the whole direction.
  std::array<int, 3> counts{};
  counts[whole_direction] = 1;
  MPI_Dims_create(mpi.size(), 3, counts.data());
  const std::array<int, 3> periods{};
  MPI_Comm communicator;
  MPI_Cart_create(MPI_COMM_WORLD, 3, counts.data(), periods.data(), 0, &communicator);
  std::array<int, 3> place{};
  MPI_Cart_coords(communicator, mpi.rank(), 3, place.data());

  std::array<Range, 3> inside{};
  std::array<int, 3> before{};
  std::array<int, 3> after{};
  const int points = side - 2;
  for (int d = 0; d < 3; ++d) {
    if (points / counts[d] < Cube::k_halo) {
      mpi.fail(program, std::to_string(mpi.size()) + " ranks: they make a grid of " + std::to_string(counts[d]) +
                            " along a side of " + std::to_string(points) + " points, and each needs 2");
    }
    inside[d] = {1 + points * place[d] / counts[d], 1 + points * (place[d] + 1) / counts[d]};
    MPI_Cart_shift(communicator, d, 1, &before[d], &after[d]);
  }
  return {communicator, before, after, Cube(side, inside)};
}

}  // namespace cfd
