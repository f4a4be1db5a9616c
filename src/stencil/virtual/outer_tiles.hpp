// SPDX-License-Identifier: Apache-2.0
// A chain in tiles of its outermost dimension, and what of each dataset a tile uses there.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "stencil/data/storage.hpp"
#include "stencil/plan/chain_use.hpp"
#include "stencil/plan/tile_plan.hpp"

namespace terrace::stencil {

// Positions in the outermost dimension: rows, or planes.
struct Interval {
  std::ptrdiff_t begin = 0;
  std::ptrdiff_t end = 0;
  [[nodiscard]] std::ptrdiff_t length() const { return end > begin ? end - begin : 0; }
};

class OuterTiles {
 public:
  // 0: one tile.
  OuterTiles(std::span<const Loop> chain, std::span<const DatasetInfo> infos, std::ptrdiff_t length);

  [[nodiscard]] std::size_t count() const { return plan_.tiles()[outer_]; }
  [[nodiscard]] std::size_t outer() const { return outer_; }
  [[nodiscard]] std::ptrdiff_t skew() const { return plan_.skew(outer_); }
  // What a tile does of a loop.
  [[nodiscard]] Range part(std::size_t loop, std::size_t tile) const;
  // What all its loops use of each dataset.
  [[nodiscard]] const std::map<DatasetId, Interval>& used(std::size_t tile) const { return used_[tile]; }
  // Bytes of a dataset's row, or plane.
  [[nodiscard]] double row_bytes(DatasetId dataset) const;
  [[nodiscard]] double bytes(DatasetId dataset, const Interval& interval) const {
    return row_bytes(dataset) * static_cast<double>(interval.length());
  }
  // Of all datasets that the largest tile uses.
  [[nodiscard]] double largest_footprint() const;
  // What the chain needs of a dataset from before, and what it leaves.
  [[nodiscard]] const DatasetUse& use(DatasetId dataset) const { return uses_.at(dataset); }
  [[nodiscard]] double loop_bytes(std::size_t tile) const;
  // Loops of which the tile does a part.
  [[nodiscard]] double pieces(std::size_t tile) const;

 private:
  std::span<const Loop> chain_;
  std::span<const DatasetInfo> infos_;
  std::size_t outer_;
  TilePlan plan_;
  std::vector<std::map<DatasetId, Interval>> used_;
  std::map<DatasetId, DatasetUse> uses_;
};

// Of a part of a loop, as bytes_of() counts them.
[[nodiscard]] inline double bytes_of_part(const Loop& loop, const Range& part) {
  return bytes_of(loop) * static_cast<double>(part.points()) / static_cast<double>(loop.range.points());
}

// The longest tiles of which one takes at most so many bytes; 0 where none does.
[[nodiscard]] std::ptrdiff_t length_that_fits(std::span<const Loop> chain, std::span<const DatasetInfo> infos,
                                              double bytes);

}  // namespace terrace::stencil
