// SPDX-License-Identifier: Apache-2.0
// Decomposes a block among ranks: one box each, cut in z and y only. Rows stay whole, so that partial results
// of rows, and with them all sums, are bitwise equal for any number of ranks. Used by distributed execution.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "terrace/stencil/grid.hpp"

namespace terrace::stencil {

class Division {
 public:
  // Decomposes the block. With fewer points in y and z than ranks, the last ranks get none; rank 0 gets all of
  // a one-dimensional block.
  Division(const Range& block, std::size_t ranks);

  [[nodiscard]] std::size_t ranks() const { return own_.size(); }
  // Returns the number of parts in each dimension.
  [[nodiscard]] const std::array<std::size_t, k_max_dims>& parts() const { return parts_; }
  // Returns a rank's points. They extend to infinity beyond the block's edges, so that halos of datasets belong
  // to a rank.
  [[nodiscard]] const Range& own(std::size_t rank) const { return own_[rank]; }
  // Returns the width of the narrowest part in a dimension, in points.
  [[nodiscard]] std::ptrdiff_t narrowest(std::size_t d) const { return narrowest_[d]; }
  // Returns the greater distance by which a range exceeds a rank's own points in a dimension, on either side.
  [[nodiscard]] std::ptrdiff_t beyond(const Range& range, std::size_t rank, std::size_t d) const;

 private:
  std::array<std::size_t, k_max_dims> parts_{1, 1, 1};
  std::array<std::ptrdiff_t, k_max_dims> narrowest_{};
  std::vector<Range> own_;
};

}  // namespace terrace::stencil
