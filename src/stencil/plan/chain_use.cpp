// SPDX-License-Identifier: Apache-2.0
// Computes which values of each dataset a chain of loops reads from before, and which it writes. Called by the
// planners of out-of-core and distributed execution, by the engine's checks, and by virtual time.
#include "stencil/plan/chain_use.hpp"

#include <algorithm>

namespace terrace::stencil {

Range hull_of(std::span<const Loop> chain) {
  Range all{{0, 0}, {0, 0}, {0, 0}};
  for (const auto& loop : chain) all = hull(all, loop.range);
  return all;
}

std::size_t outer_dimension(std::span<const Loop> chain) {
  std::size_t found = 0;
  for (const auto& loop : chain)
    for (std::size_t d = 1; d < k_max_dims; ++d)
      if (loop.range.length(d) > 1) found = std::max(found, d);
  return found;
}

Range read_range(const Range& range, const Argument& argument) {
  Range reached = range;
  for (std::size_t d = 0; d < k_max_dims; ++d) {
    reached.begin[d] += argument.low[d];
    reached.end[d] += argument.high[d];
  }
  return reached;
}

Range reached_range(const Range& range, const Argument& argument) {
  return reads(argument.access) ? hull(read_range(range, argument), range) : range;
}

// Walks the loops in order: what a loop reads and no earlier loop wrote is needed from before the chain.
std::map<DatasetId, DatasetUse> uses_of(std::span<const Loop> chain) {
  std::map<DatasetId, DatasetUse> uses;
  for (const auto& loop : chain) {
    if (loop.range.empty()) continue;
    for (const auto& argument : loop.arguments) {
      auto& use = uses[argument.dataset];
      use.used = hull(use.used, reached_range(loop.range, argument));
      if (!reads(argument.access)) continue;
      for (const auto& offset : argument.stencil.offsets()) {
        Range read = loop.range;
        for (std::size_t d = 0; d < k_max_dims; ++d) {
          read.begin[d] += offset[d];
          read.end[d] += offset[d];
        }
        for (const auto& piece : use.written.missing(read)) use.needed.add(piece);
      }
    }
    for (const auto& argument : loop.arguments)
      if (writes(argument.access)) uses[argument.dataset].written.add(loop.range);
  }
  return uses;
}

}  // namespace terrace::stencil
