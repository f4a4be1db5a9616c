// SPDX-License-Identifier: Apache-2.0
// Cuts a chain into tiles of its outermost dimension, and states what each tile uses of each dataset. Used in
// virtual time (chains priced on a machine model, without running kernels) by the modes `slots` and `unified`.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "stencil/data/storage.hpp"
#include "stencil/plan/chain_use.hpp"
#include "stencil/plan/tile_plan.hpp"

namespace terrace::stencil {

// An interval of positions in the outermost dimension: rows or planes.
struct OuterInterval {
  std::ptrdiff_t begin = 0;
  std::ptrdiff_t end = 0;
  [[nodiscard]] std::ptrdiff_t length() const { return end > begin ? end - begin : 0; }
};

class OuterTiles {
 public:
  // Cuts tiles of `length` positions; 0: one tile.
  OuterTiles(std::span<const Loop> chain, std::span<const DatasetInfo> infos, std::ptrdiff_t length);

  [[nodiscard]] std::size_t count() const { return plan_.tiles()[outer_]; }
  [[nodiscard]] std::size_t outer() const { return outer_; }
  [[nodiscard]] std::ptrdiff_t skew() const { return plan_.skew(outer_); }
  // Returns the part of a loop that a tile runs.
  [[nodiscard]] Range part(std::size_t loop, std::size_t tile) const;
  // Returns the interval of each dataset that the tile's loops use.
  [[nodiscard]] const std::map<DatasetId, OuterInterval>& used(std::size_t tile) const { return used_[tile]; }
  // Returns the bytes of a dataset's row or plane.
  [[nodiscard]] double row_bytes(DatasetId dataset) const;
  [[nodiscard]] double bytes(DatasetId dataset, const OuterInterval& interval) const {
    return row_bytes(dataset) * static_cast<double>(interval.length());
  }
  // Returns the bytes that the largest tile uses of all datasets.
  [[nodiscard]] double largest_footprint() const;
  // Returns what the chain reads from before and writes of a dataset.
  [[nodiscard]] const DatasetUse& use(DatasetId dataset) const { return uses_.at(dataset); }
  // Returns the bytes that the tile's loops access.
  [[nodiscard]] double loop_bytes(std::size_t tile) const;
  // Returns the number of loops of which the tile runs a part.
  [[nodiscard]] double pieces(std::size_t tile) const;

 private:
  std::span<const Loop> chain_;
  std::span<const DatasetInfo> infos_;
  std::size_t outer_;
  TilePlan plan_;
  std::vector<std::map<DatasetId, OuterInterval>> used_;
  std::map<DatasetId, DatasetUse> uses_;
};

// Returns the bytes that a part of a loop accesses, counted as in bytes_of().
[[nodiscard]] inline double bytes_of_part(const Loop& loop, const Range& part) {
  return bytes_of(loop) * static_cast<double>(part.points()) / static_cast<double>(loop.range.points());
}

// Returns the greatest tile length of which one tile uses at most `bytes`; 0 if none does.
[[nodiscard]] std::ptrdiff_t length_that_fits(std::span<const Loop> chain, std::span<const DatasetInfo> infos,
                                              double bytes);

}  // namespace terrace::stencil
