// SPDX-License-Identifier: Apache-2.0
// Finds the chunks of an object, which are contiguous in the chunk table, for GPU policies.
#pragma once

#include <cstddef>

#include "memory/chunk_table.hpp"

namespace terrace::strategy {

struct ChunkRange {
  ChunkId begin = 0;
  ChunkId end = 0;
};

// Returns the chunks of the chunk's object, at most `max_distance` on each side of it.
inline ChunkRange object_chunks(const memory::ChunkTable& chunks, ChunkId chunk,
                                std::size_t max_distance = ~std::size_t{0}) {
  const auto object = chunks[chunk].object;
  ChunkRange range{chunk, chunk + 1};
  while (range.begin > 0 && chunk - range.begin < max_distance && chunks[range.begin - 1].object == object)
    --range.begin;
  while (range.end < chunks.size() && range.end - chunk <= max_distance && chunks[range.end].object == object)
    ++range.end;
  return range;
}

}  // namespace terrace::strategy
