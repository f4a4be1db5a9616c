// SPDX-License-Identifier: Apache-2.0
// Run-length encodes where a loop's parts end in the tiles of a dimension: interior tiles are alike, so
// hundreds of ends become a few numbers.
//
// Without skew, tile t would end (t + 1) * size points after the chain's first point. A run is a number of
// consecutive tiles whose parts all end `ahead` points further, or at the loop's own bounds if these come
// first. In a reversed dimension everything is mirrored. The last tile ends where the loop does and is in no
// run.
#pragma once

#include <cstddef>
#include <vector>

#include "stencil/plan/tile_plan.hpp"

namespace terrace::stencil {

struct EdgeRun {
  std::size_t tiles = 0;
  std::ptrdiff_t ahead = 0;
  friend bool operator==(const EdgeRun&, const EdgeRun&) = default;
};

// Returns the minimal number of runs. `all` is the bounding range of all loops, `range` that of the loop.
[[nodiscard]] std::vector<EdgeRun> edge_runs(const TilePlan& plan, const Range& all, const Range& range,
                                             std::size_t loop, std::size_t d);

}  // namespace terrace::stencil
