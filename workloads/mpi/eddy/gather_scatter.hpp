// SPDX-License-Identifier: Apache-2.0
// Declares the elements of an MPI rank for eddy, and direct stiffness summation between ranks.
//
// Source: Deville, Fischer and Mund, "High-order methods for incompressible fluid flow", 2002.
#pragma once

#include <cstdint>
#include <vector>

#include "eddy/mesh.hpp"
#include "mpi/common/ranks.hpp"

namespace eddy {

/// A rank's block of consecutive elements. In a sum it exchanges one message with each rank that has some of the
/// same points.
class GatherScatter : public Part {
 public:
  /// Divides side x side elements with `points` points a side.
  GatherScatter(const workloads::Ranks& ranks, std::int64_t side, int points);

  void add_copies(Field& field) const override;
  void gather(Field& by_element, int width) const override;

 private:
  /// A rank that has points of this one. `shared` are their places in shared_.
  struct Partner {
    int rank;
    std::vector<std::uint32_t> shared;
    mutable std::vector<double> sent;
    mutable std::vector<double> received;
  };

  int rank_;
  int num_ranks_;
  std::int64_t all_elements_;
  std::vector<std::vector<std::uint32_t>> shared_;  // for each point that other ranks have too, its copies here
  std::vector<Partner> partners_;                   // by rank
  mutable std::vector<double> sums_;
  mutable std::vector<MPI_Request> requests_;
};

}  // namespace eddy
