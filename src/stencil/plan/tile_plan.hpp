// SPDX-License-Identifier: Apache-2.0
// Implements skewed tiling: cuts a chain of loops into tiles that each run all loops. Used by the executors
// `tiled`, `streamed` and `gpu` and by virtual time. Plans are plain values.
//
// Dimensions are independent. Tile t of loop l ends at ends(d, t)[l] and begins where tile t - 1 ended. A loop
// ends beyond all later loops by as much as these read outside their own points, and by as much as earlier
// values must still be read before it overwrites them. So a point depends only on its own tile and on tiles
// that do not lie behind it in any dimension. Tiles may run in any order that respects this; within a tile the
// loops run in program order. The algorithm is that of I. Reguly, G. Mudalige, M. Giles, "Loop tiling in
// large-scale stencil codes at run-time with OPS", IEEE TPDS 29(4), 2018, section 3.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "terrace/stencil/chain.hpp"

namespace terrace::stencil {

class TilePlan {
 public:
  // Plans a chain of one block. `size` is in points; 0 leaves a dimension uncut. In a `reversed` dimension,
  // tiles go from the last points to the first.
  TilePlan(std::span<const Loop> chain, const std::array<std::ptrdiff_t, k_max_dims>& size,
           const std::array<bool, k_max_dims>& reversed = {false, false, false});

  [[nodiscard]] std::size_t loops() const { return ranges_.size(); }
  // Returns the number of tiles in each dimension.
  [[nodiscard]] const std::array<std::size_t, k_max_dims>& tiles() const { return tiles_; }
  // Returns the tile size in points; 0: the dimension is not cut.
  [[nodiscard]] const std::array<std::ptrdiff_t, k_max_dims>& size() const { return size_; }
  [[nodiscard]] const std::array<bool, k_max_dims>& reversed() const { return reversed_; }
  [[nodiscard]] std::size_t count() const { return tiles_[0] * tiles_[1] * tiles_[2]; }
  // Returns the points of a loop that a tile computes; often empty at the edges.
  [[nodiscard]] Range part(std::size_t loop, const std::array<std::size_t, k_max_dims>& tile) const;
  // Returns the points of a loop that the tiles [first, last) of a dimension compute, over all tiles of the
  // other dimensions.
  [[nodiscard]] Range part_of_all(std::size_t loop, std::size_t dimension, std::size_t first,
                                  std::size_t last) const;
  // Returns the maximum skew in points: how far a tile's first loops extend beyond its last one.
  [[nodiscard]] std::ptrdiff_t skew(std::size_t d) const { return skew_[d]; }

 private:
  void cut(std::span<const Loop> chain, std::size_t d, std::ptrdiff_t size);

  std::vector<Range> ranges_;
  std::array<std::ptrdiff_t, k_max_dims> size_;
  std::array<std::size_t, k_max_dims> tiles_{1, 1, 1};
  std::array<std::ptrdiff_t, k_max_dims> skew_{0, 0, 0};
  std::array<bool, k_max_dims> reversed_;
  // by tile, then loop; negated coordinates where reversed
  std::array<std::vector<std::ptrdiff_t>, k_max_dims> ends_;
};

}  // namespace terrace::stencil
