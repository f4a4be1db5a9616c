// SPDX-License-Identifier: Apache-2.0
// Declares how BT, SP and LU divide their grid among ranks: along two directions, with copies of two layers of
// each neighbour's points.
#pragma once

#include <array>

#include "cfd/cube.hpp"
#include "mpi/common/ranks.hpp"

namespace cfd {

/// A rank's part of the grid, and its neighbours. `before` and `after` are the ranks of the neighbouring parts
/// along each direction, or MPI_PROC_NULL.
struct Partition {
  MPI_Comm communicator;
  std::array<int, 3> before;
  std::array<int, 3> after;
  Cube cube;
};

/// Divides a grid along all directions but one. Exits 2 if a rank would have too few points.
Partition divide(const workloads::MpiEnvironment& mpi, const char* program, int side, int whole_direction);

/// Copies the outermost points of each neighbour, direction by direction: so corners come along.
template <typename Field>
void exchange_halo(const Partition& partition, const Cube& cube, Field field) {
  workloads::PackedMessage to_before;
  workloads::PackedMessage to_after;
  workloads::PackedMessage from_before;
  workloads::PackedMessage from_after;
  for (int direction = 0; direction < 3; ++direction) {
    const int before = partition.before[direction];
    const int after = partition.after[direction];
    if (before == MPI_PROC_NULL && after == MPI_PROC_NULL) continue;
    // The values of the layers from `begin` on.
    const auto layers = [&](int begin) {
      return [&, begin](auto pass) {
        std::array<Range, 3> box = cube.stored;
        box[direction] = {begin, begin + Cube::k_halo};
        for (int k = box[2].begin; k < box[2].end; ++k) {
          for (int j = box[1].begin; j < box[1].end; ++j) {
            for (int i = box[0].begin; i < box[0].end; ++i) {
              for (int m = 0; m < k_unknowns; ++m) pass(field(m, cube.at(i, j, k)));
            }
          }
        }
      };
    };
    const Range own = cube.inside[direction];
    std::array<MPI_Request, 4> requests;
    from_before.begin_receive(partition.communicator, before, 1, &requests[0], layers(own.begin - Cube::k_halo));
    from_after.begin_receive(partition.communicator, after, 2, &requests[1], layers(own.end));
    to_before.begin_send(partition.communicator, before, 2, &requests[2], layers(own.begin));
    to_after.begin_send(partition.communicator, after, 1, &requests[3], layers(own.end - Cube::k_halo));
    MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
    if (before != MPI_PROC_NULL) from_before.unpack(layers(own.begin - Cube::k_halo));
    if (after != MPI_PROC_NULL) from_after.unpack(layers(own.end));
  }
}

}  // namespace cfd
