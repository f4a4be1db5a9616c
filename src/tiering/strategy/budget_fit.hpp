// SPDX-License-Identifier: Apache-2.0
// Fits a plan's placement into a budget. A plan that was made for objects of other sizes may need more of a place
// than the budget has. The chunks with the least gain per byte then stay in their home place.
#pragma once

#include <vector>

#include "machine/machine.hpp"

namespace terrace::strategy {

// Describes a chunk that the plan places outside of its home place.
struct PlannedChunk {
  Bytes size;
  Seconds worth;  // gain per iteration
  PlaceId place = 0;
};

// Returns for each chunk whether it has to stay at home, so that no place exceeds its budget. Chunks are admitted
// greedily by gain per byte, in their order where it is equal.
std::vector<bool> chunks_over_budget(const std::vector<PlannedChunk>& away, machine::Budget budget);

}  // namespace terrace::strategy
