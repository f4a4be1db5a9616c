// Which memory an object is managed as, and how it is cut into chunks: decided by its address, its size and the
// rule alone, so that whoever must know it beforehand (a replay) can ask.
#pragma once

#include <cstdint>

#include "core/units.hpp"

namespace terrace::runtime {

// About `chunks_per_object` chunks, each in [smallest, largest] and a whole multiple of `smallest`, or of a huge
// page where it would hold one.
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

// Both ends go to the nearest granule; at least one is left.
Extent extent_of(const ChunkRule& rule, Bytes granule, std::uint64_t address, Bytes size);

}  // namespace terrace::runtime
