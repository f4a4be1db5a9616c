// SPDX-License-Identifier: Apache-2.0
// What a chain does to each dataset as a whole: what of it the chain needs from before, and what it leaves behind.
#pragma once

#include <map>
#include <span>

#include "stencil/plan/boxes.hpp"
#include "terrace/stencil/chain.hpp"

namespace terrace::stencil {

struct DatasetUse {
  Range used{{0, 0}, {0, 0}, {0, 0}};  // the smallest range of all that is read or written
  Boxes needed;                        // read before the chain has written it
  Boxes written;
};

[[nodiscard]] std::map<DatasetId, DatasetUse> uses_of(std::span<const Loop> chain);

// The smallest range that has the points of all loops.
[[nodiscard]] Range hull_of(std::span<const Loop> chain);
// The outermost dimension in which any loop has more than one point.
[[nodiscard]] std::size_t outer_dimension(std::span<const Loop> chain);

// Where a loop reads a dataset: the hull of all its offsets.
[[nodiscard]] Range read_range(const Range& range, const Argument& argument);
// All that it reaches.
[[nodiscard]] Range reached_range(const Range& range, const Argument& argument);

}  // namespace terrace::stencil
