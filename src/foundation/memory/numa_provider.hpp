// Real memory on NUMA nodes: chunks are bound by the policy of their range, pages come with the first touch.
#pragma once

#include "memory/provider.hpp"

namespace terrace::memory {

class NumaProvider final : public Provider {
 public:
  // Machine and table outlive it.
  NumaProvider(const machine::Machine& machine, const ChunkTable& chunks);
  // Pages that are there already (static arrays, memory that is named late) are brought along as far as the kernel
  // can move them.
  bool bind(ChunkId first, std::uint32_t count, PlaceId place) override;
  [[nodiscard]] PlaceId where(ChunkId chunk) override;

 private:
  const machine::Machine& machine_;
  const ChunkTable& chunks_;
};

}  // namespace terrace::memory
