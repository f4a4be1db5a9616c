// SPDX-License-Identifier: Apache-2.0
// Where a loop's parts end in the tiles of a dimension, in a short form: tiles in the middle of a chain are all
// alike, so hundreds of ends are a few numbers.
//
// Without skew, tile t would end (t + 1) * size points from where the chain's points begin. A run is a number of
// tiles whose parts all end `ahead` points further, or where the loop's own range begins or ends, if that comes
// first. In a dimension that is reversed all is seen from the other side. The last tile ends where the loop does,
// and is in no run.
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

// `all` is the smallest range of all loops, `range` that of the loop. As few runs as there can be.
[[nodiscard]] std::vector<EdgeRun> edge_runs(const TilePlan& plan, const Range& all, const Range& range,
                                             std::size_t loop, std::size_t d);

}  // namespace terrace::stencil
