// SPDX-License-Identifier: Apache-2.0
// Analyses which values of each dataset a chain of loops needs from before, and which it writes. Used by all
// planners, by the engine's checks, and by virtual time.
#pragma once

#include <map>
#include <span>

#include "stencil/plan/boxes.hpp"
#include "terrace/stencil/chain.hpp"

namespace terrace::stencil {

struct DatasetUse {
  Range used{{0, 0}, {0, 0}, {0, 0}};  // bounding range of all accesses
  Boxes needed;                        // values from before the chain that it reads
  Boxes written;
};

// Returns the use of each dataset that the chain accesses.
[[nodiscard]] std::map<DatasetId, DatasetUse> uses_of(std::span<const Loop> chain);

// Returns the bounding range of all loops.
[[nodiscard]] Range hull_of(std::span<const Loop> chain);
// Returns the outermost dimension in which any loop has more than one point.
[[nodiscard]] std::size_t outer_dimension(std::span<const Loop> chain);

// Returns the bounding range of a loop's reads of a dataset, over all stencil offsets.
[[nodiscard]] Range read_range(const Range& range, const Argument& argument);
// Returns the bounding range of all accesses, reads and writes.
[[nodiscard]] Range reached_range(const Range& range, const Argument& argument);

}  // namespace terrace::stencil
