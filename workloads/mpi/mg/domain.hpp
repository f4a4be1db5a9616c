// SPDX-License-Identifier: Apache-2.0
// Declares the decomposition of NPB MG's cubes into boxes of points on a grid of ranks, and the exchange of their
// faces. Source: Bailey et al., RNR-94-007 (1994), section 2.3.2; decomposition and messages as in NPB's MPI
// version.
//
// Each dimension of n points on p ranks is cut at n c / p. Coarse levels may have fewer points than ranks: then
// every (p / n)-th rank has one point, the others have none, yet their ghost layers take part in the prolongation.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <vector>

namespace mg {

using Extents = std::array<int, 3>;  // along i3, i2 and i1, which is contiguous

/// A rank's points of a level, ghost layers included: interior 1 to n-2 in each dimension, which may be empty.
struct Box {
  double* data;
  Extents n;

  int n1() const { return n[2]; }
  int n2() const { return n[1]; }
  int n3() const { return n[0]; }
  double* line(int i3, int i2) const {
    return data + (static_cast<std::size_t>(i3) * static_cast<std::size_t>(n[1]) + static_cast<std::size_t>(i2)) *
                      static_cast<std::size_t>(n[2]);
  }
  double& at(const Extents& i) const { return line(i[0], i[1])[i[2]]; }
  std::size_t points() const {
    return static_cast<std::size_t>(n[0]) * static_cast<std::size_t>(n[1]) * static_cast<std::size_t>(n[2]);
  }
};

/// The grid of ranks, and the boxes of this one. Level k has 2^k points a side.
class Domain {
 public:
  /// Requires: the number of ranks is a power of two.
  explicit Domain(int ranks);
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;
  ~Domain() { MPI_Comm_free(&ranks_); }

  /// Returns the global index, from 0, of the first interior point along each dimension.
  Extents first(int level) const;
  /// Returns the points of this rank's box along each dimension, ghost layers included.
  Extents extents(int level) const;

  /// Fills the ghost layers of a box from the neighbours along one dimension after the other, edges and corners
  /// included.
  void exchange(int level, const Box& box);

 private:
  void exchange_along(int dimension, int level, const Box& box);
  int rank_along(int dimension, int coordinate) const;

  MPI_Comm ranks_ = MPI_COMM_NULL;  // a periodic grid
  Extents size_{};                  // of the grid of ranks
  Extents own_{};                   // this rank's coordinates
  std::array<std::vector<double>, 4> buffers_;
};

/// Computes fine = fine + the trilinear prolongation of coarse, ghost layers included. Point i of the coarse box
/// is point 2 i + offset of the fine one.
void prolong(const Box& coarse, const Box& fine, const Extents& offset);

}  // namespace mg
