// Initial placement by reference counts (Unimem, section 3.2): what is referred to most is in fast memory, as
// far as there is room. The sum of references is what counts, not their density: an exact knapsack finds the
// largest sum that fits. With more places than two, a reference is worth the time by which a line comes sooner
// from the place than from the slowest; with two that is one and the same factor.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units.hpp"

namespace terrace::strategy {

struct CountedChunk {
  Bytes size;
  double references = 0;
};

struct PlaceOption {  // a place, as these chunks see it
  Bytes room;         // for them
  double line_time = 0;
};

// By chunk: the number of its option. `home`: where what nobody refers to goes, and everything where the chunks
// have no room at all. Where the search is not exact (knapsack.hpp) it is within what the knapsack's bound says.
std::vector<std::uint32_t> max_references(const std::vector<CountedChunk>& chunks,
                                          const std::vector<PlaceOption>& options, std::uint32_t home);

}  // namespace terrace::strategy
