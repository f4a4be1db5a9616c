// SPDX-License-Identifier: Apache-2.0
// Adapts a plan to a program run other than the one that it was made of: one with other sizes, more levels or more
// inner iterations. ActivePlan calls it for plans of `terrace run --plan FILE`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "machine/machine.hpp"

namespace terrace::strategy {

// Phases correspond in their order and by their names. Of names that end in a number the stem has to be equal, and
// the highest numbers correspond, as the finest levels of multigrid do ("resid.5" of 5 levels is "resid.7" of 7).
// Returns for each phase of the program the index of the plan's phase, or none. Maximises the number of pairs;
// pairs at the same level count more.
std::vector<std::optional<std::uint32_t>> match_phases(const std::vector<std::string>& planned,
                                                       const std::vector<std::string>& running);

// Describes a chunk that the plan places outside of its home place.
struct PlannedChunk {
  Bytes size;
  Seconds worth;  // gain per iteration
  PlaceId place = 0;
};

// Fits a plan's placement into a budget: a plan for objects of other sizes may need more of a place than that has.
// Returns for each chunk whether it has to stay at home, so that no place exceeds its budget. Chunks are admitted
// greedily by gain per byte, in their order where it is equal.
std::vector<bool> chunks_over_budget(const std::vector<PlannedChunk>& away, machine::Budget budget);

}  // namespace terrace::strategy
