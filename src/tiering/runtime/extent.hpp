// SPDX-License-Identifier: Apache-2.0
// Computes which memory an object is managed as and how it is cut into chunks (units of migration). Program and
// replay call it. The result depends on the address, the size and the rule alone, so that a replay can compute it
// before it creates the object.
#pragma once

#include <cstdint>

#include "core/units.hpp"

namespace terrace::runtime {

// Yields about `chunks_per_object` chunks, each in [smallest, largest] and a multiple of `smallest`, or of the
// huge page size if the chunk would hold one.
struct ChunkRule {
  std::uint32_t chunks_per_object = 64;
  Bytes smallest{16384};
  Bytes largest{1ULL << 30};
};

struct Extent {
  std::uint64_t address = 0;
  Bytes size;
  Bytes chunk_size;
  std::uint64_t chunks = 0;
};

// Rounds both ends to the nearest granule; the extent has at least one granule.
Extent extent_of(const ChunkRule& rule, Bytes granule, std::uint64_t address, Bytes size);

}  // namespace terrace::runtime
