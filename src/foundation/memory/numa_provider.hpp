// SPDX-License-Identifier: Apache-2.0
// Provides memory of NUMA nodes: binds chunks by the memory policy of their range; pages come with the first
// touch.
#pragma once

#include "memory/provider.hpp"

namespace terrace::memory {

class NumaProvider final : public Provider {
 public:
  // Borrows machine and table, which must outlive it.
  NumaProvider(const machine::Machine& machine, const ChunkTable& chunks);
  // Also migrates existing pages (static arrays, memory that is registered late), as far as the kernel can move
  // them.
  bool bind(ChunkId first, std::uint32_t count, PlaceId place) override;
  [[nodiscard]] PlaceId where(ChunkId chunk) override;

 private:
  const machine::Machine& machine_;
  const ChunkTable& chunks_;
};

}  // namespace terrace::memory
