// Memory as the runtime sees it: something that lets untouched chunks settle on a place.
#pragma once

#include "machine/machine.hpp"
#include "memory/chunk_table.hpp"

namespace terrace::memory {

class Backing {
 public:
  virtual ~Backing() = default;
  // The chunks [first, first + count), contiguous in memory and not yet touched, shall lie on `place`. False when
  // the system refuses; they then lie where the system puts them.
  virtual bool settle(ChunkId first, std::uint32_t count, PlaceId place) = 0;
  // Where the chunk lies by the system's own account (most of its pages), k_no_place while it is untouched.
  [[nodiscard]] virtual PlaceId where(ChunkId chunk) = 0;
};

}  // namespace terrace::memory
