// SPDX-License-Identifier: Apache-2.0
// Declares the interface by which the runtime binds untouched chunks to places, and its implementation for NUMA
// nodes.
#pragma once

#include "machine/machine.hpp"
#include "memory/chunk_table.hpp"

namespace terrace::memory {

class Provider {
 public:
  virtual ~Provider() = default;
  // Binds the chunks [first, first + count), which are contiguous and not yet touched, to `place`. Returns false
  // if the system refuses; the system then decides where they reside.
  virtual bool bind(ChunkId first, std::uint32_t count, PlaceId place) = 0;
  // Drops the pages of chunks [first, first + count), which are contiguous, with their contents. In virtual time,
  // where chunks have no pages, it does nothing.
  virtual void discard(ChunkId first, std::uint32_t count) {
    static_cast<void>(first);
    static_cast<void>(count);
  }
  // Returns the place on which, by the system's report, most pages of the chunk reside; k_no_place while
  // untouched.
  [[nodiscard]] virtual PlaceId where(ChunkId chunk) = 0;
};

// Binds chunks to NUMA nodes by the memory policy of their range; pages come with the first touch.
class NumaProvider final : public Provider {
 public:
  // Borrows machine and table, which must outlive it.
  NumaProvider(const machine::Machine& machine, const ChunkTable& chunks) : machine_(machine), chunks_(chunks) {}
  // Also migrates existing pages (static arrays, memory that is registered late), as far as the kernel can move
  // them. Returns false for a place without a node.
  bool bind(ChunkId first, std::uint32_t count, PlaceId place) override;
  void discard(ChunkId first, std::uint32_t count) override;
  [[nodiscard]] PlaceId where(ChunkId chunk) override;

 private:
  const machine::Machine& machine_;
  const ChunkTable& chunks_;
};

}  // namespace terrace::memory
