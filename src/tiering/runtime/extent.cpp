// SPDX-License-Identifier: Apache-2.0
// Computes an object's extent (whole pages) and the size of its chunks, by rounding. Called by Program and replay.
// See extent.hpp.
#include "runtime/extent.hpp"

#include <algorithm>

#include "core/rounding.hpp"

namespace terrace::runtime {

namespace {

// Returns the size of the chunks that an object of `size` bytes is cut into.
Bytes chunk_size(const ChunkRule& rule, Bytes granule, Bytes size) {
  const auto wanted = size.value / rule.chunks_per_object;
  const bool huge = wanted >= k_huge_page;
  const auto step = std::max(huge ? k_huge_page : rule.smallest.value, granule.value);
  // Round up, but huge pages, whose steps are long, to the nearest: a chunk of 2.1 MiB would get 4 MiB otherwise.
  const auto whole_steps = (wanted + (huge ? step / 2 : step - 1)) / step * step;
  return Bytes{std::max(std::clamp(whole_steps, rule.smallest.value, rule.largest.value), granule.value)};
}

}  // namespace

Extent extent_of(const ChunkRule& rule, Bytes granule, std::uint64_t address, Bytes size) {
  const auto nearest = [&](std::uint64_t value) {
    return (value + granule.value / 2) / granule.value * granule.value;
  };
  const auto low = nearest(address);
  const auto high = std::max(nearest(address + size.value), low + granule.value);
  Extent extent{low, Bytes{high - low}, {}, 0};
  extent.chunk_size = chunk_size(rule, granule, extent.size);
  extent.chunks = (extent.size.value + extent.chunk_size.value - 1) / extent.chunk_size.value;
  return extent;
}

}  // namespace terrace::runtime
