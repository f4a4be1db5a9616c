// The chunks of an object follow each other in the table.
#pragma once

#include <cstddef>

#include "memory/chunk_table.hpp"

namespace terrace::strategy {

struct ChunkRange {
  ChunkId begin = 0;
  ChunkId end = 0;
};

// Those of the chunk's object, at most so many on each side of it.
inline ChunkRange object_chunks(const memory::ChunkTable& chunks, ChunkId chunk,
                                std::size_t most = ~std::size_t{0}) {
  const auto object = chunks[chunk].object;
  ChunkRange range{chunk, chunk + 1};
  while (range.begin > 0 && chunk - range.begin < most && chunks[range.begin - 1].object == object) --range.begin;
  while (range.end < chunks.size() && range.end - chunk <= most && chunks[range.end].object == object) ++range.end;
  return range;
}

}  // namespace terrace::strategy
