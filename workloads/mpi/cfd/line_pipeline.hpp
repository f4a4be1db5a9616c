// SPDX-License-Identifier: Apache-2.0
// Implements the line solves of BT and SP over ranks: lines are eliminated from rank to rank, then substituted the
// other way. Row by row of lines, so that ranks work at the same time.
#pragma once

#include "mpi/cfd/partition.hpp"

namespace cfd {

class LinePipeline {
 public:
  /// `reach` is the distance of the farthest point that a row of the systems has.
  LinePipeline(const Partition& partition, int reach) : partition_(partition), reach_(reach) {}

  /// Solves the lines along a direction, y or z. steps.eliminate() and steps.substitute() do it for a part of the
  /// cube; eliminated() and solved() pass the values at a point that the next rank needs.
  template <int Direction, typename Steps>
  void solve(const Cube& cube, const Steps& steps) {
    constexpr int k_across = Direction == 1 ? 2 : 1;
    const Range own = cube.inside[Direction];
    const Range rows = cube.inside[k_across];
    const int before = partition_.before[Direction];
    const int after = partition_.after[Direction];
    const auto eliminated = [&](auto pass, std::ptrdiff_t p) { steps.eliminated(pass, p); };
    const auto solved = [&](auto pass, std::ptrdiff_t p) { steps.solved(pass, p); };
    for (int row = rows.begin; row < rows.end; ++row) {
      message_.receive(partition_.communicator, before,
                       points<Direction>(cube, own.begin - reach_, row, eliminated));
      steps.eliminate(cube.layer(k_across, row));
      message_.send(partition_.communicator, after, points<Direction>(cube, own.end - reach_, row, eliminated));
    }
    for (int row = rows.begin; row < rows.end; ++row) {
      message_.receive(partition_.communicator, after, points<Direction>(cube, own.end, row, solved));
      steps.substitute(cube.layer(k_across, row));
      message_.send(partition_.communicator, before, points<Direction>(cube, own.begin, row, solved));
    }
  }

 private:
  /// Lists the values at the `reach_` points from `begin` on of all lines of a row.
  template <int Direction, typename Values>
  auto points(const Cube& cube, int begin, int row, const Values& values) const {
    return [&cube, &values, begin, row, end = begin + reach_](auto pass) {
      for (int place = begin; place < end; ++place) {
        for (int i = cube.inside[0].begin; i < cube.inside[0].end; ++i) {
          values(pass, Direction == 1 ? cube.at(i, place, row) : cube.at(i, row, place));
        }
      }
    };
  }

  const Partition& partition_;
  int reach_;
  workloads::PackedMessage message_;
};

}  // namespace cfd
