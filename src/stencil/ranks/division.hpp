// SPDX-License-Identifier: Apache-2.0
// How a block is divided among ranks: a box for each, cut in z and in y alone. Rows stay whole, so that the
// partial results of rows, and with them all sums, are the same numbers for any number of ranks.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "terrace/stencil/grid.hpp"

namespace terrace::stencil {

class Division {
 public:
  // With fewer points in y and z than ranks, the last ranks have none; a block of one dimension is the first
  // one's.
  Division(const Range& block, std::size_t ranks);

  [[nodiscard]] std::size_t ranks() const { return own_.size(); }
  // Parts in each dimension.
  [[nodiscard]] const std::array<std::size_t, k_max_dims>& parts() const { return parts_; }
  // A rank's points. At the block's edges they go on without end, so that halos of datasets belong to them.
  [[nodiscard]] const Range& own(std::size_t rank) const { return own_[rank]; }
  // Points of the narrowest part in a dimension.
  [[nodiscard]] std::ptrdiff_t narrowest(std::size_t d) const { return narrowest_[d]; }
  // How far a range goes beyond a rank's own points in a dimension, to the side that goes further.
  [[nodiscard]] std::ptrdiff_t beyond(const Range& range, std::size_t rank, std::size_t d) const;

 private:
  std::array<std::size_t, k_max_dims> parts_{1, 1, 1};
  std::array<std::ptrdiff_t, k_max_dims> narrowest_{};
  std::vector<Range> own_;
};

}  // namespace terrace::stencil
