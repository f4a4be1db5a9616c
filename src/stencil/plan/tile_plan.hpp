// SPDX-License-Identifier: Apache-2.0
// Skewed tiles: how a chain of loops is cut into pieces that each go through all loops, as a value.
//
// In each dimension by itself, tile t of loop l goes from where tile t - 1 ended up to ends(d, t)[l]. A loop's end
// is behind that of all later loops by as much as these read beyond their own points, and as others still have to
// read what they overwrite. So a point depends on points of its own tile and of tiles that are not behind it in
// any dimension: tiles may run in any order that keeps this, and within a tile the loops run in their own order.
// The algorithm is that of I. Reguly, G. Mudalige, M. Giles, "Loop tiling in large-scale stencil codes at run-time
// with OPS", IEEE TPDS 29(4), 2018, section 3.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "terrace/stencil/chain.hpp"

namespace terrace::stencil {

class TilePlan {
 public:
  // Of one block's chain; `size` in points, 0: a dimension is not cut. In a dimension that is `reversed`, tiles go
  // from the last points to the first.
  TilePlan(std::span<const Loop> chain, const std::array<std::ptrdiff_t, k_max_dims>& size,
           const std::array<bool, k_max_dims>& reversed = {false, false, false});

  [[nodiscard]] std::size_t loops() const { return ranges_.size(); }
  // Tiles in each dimension.
  [[nodiscard]] const std::array<std::size_t, k_max_dims>& tiles() const { return tiles_; }
  // In points; 0: a dimension is not cut.
  [[nodiscard]] const std::array<std::ptrdiff_t, k_max_dims>& size() const { return size_; }
  [[nodiscard]] const std::array<bool, k_max_dims>& reversed() const { return reversed_; }
  [[nodiscard]] std::size_t count() const { return tiles_[0] * tiles_[1] * tiles_[2]; }
  // What a tile does of a loop; often empty at the edges.
  [[nodiscard]] Range part(std::size_t loop, const std::array<std::size_t, k_max_dims>& tile) const;
  // What all tiles from `first` up to, and not with, `last` of a dimension do of a loop, whatever their place in
  // the others.
  [[nodiscard]] Range part_of_all(std::size_t loop, std::size_t dimension, std::size_t first,
                                  std::size_t last) const;
  // How much further the first loops of a tile are than its last one, at the most, in points.
  [[nodiscard]] std::ptrdiff_t skew(std::size_t d) const { return skew_[d]; }

 private:
  void cut(std::span<const Loop> chain, std::size_t d, std::ptrdiff_t size);

  std::vector<Range> ranges_;
  std::array<std::ptrdiff_t, k_max_dims> size_;
  std::array<std::size_t, k_max_dims> tiles_{1, 1, 1};
  std::array<std::ptrdiff_t, k_max_dims> skew_{0, 0, 0};
  std::array<bool, k_max_dims> reversed_;
  std::array<std::vector<std::ptrdiff_t>, k_max_dims> ends_;  // by tile, then loop; of -x where x is reversed
};

}  // namespace terrace::stencil
