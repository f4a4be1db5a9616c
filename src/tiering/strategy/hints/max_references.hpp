// SPDX-License-Identifier: Apache-2.0
// Computes the initial placement by reference counts (Unimem, section 3.2): maximises the sum of references to
// fast memory by a knapsack. InitialMovePlanner calls it. With more than two places, a reference is weighted with
// the time by which a cache line arrives sooner than from the slowest place; with two places that is a common
// factor.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units.hpp"

namespace terrace::strategy {

struct CountedChunk {
  Bytes size;
  double references = 0;
};

// A place that the chunks may go to.
struct PlaceOption {
  Bytes capacity;  // for these chunks
  double line_time = 0;
};

// Returns the index of the option of each chunk. `home`: the option of chunks without references, and of all
// chunks if they do not fit. If the search is not exact, its error is within the knapsack's bound (knapsack.hpp).
std::vector<std::uint32_t> max_references(const std::vector<CountedChunk>& chunks,
                                          const std::vector<PlaceOption>& options, std::uint32_t home);

}  // namespace terrace::strategy
