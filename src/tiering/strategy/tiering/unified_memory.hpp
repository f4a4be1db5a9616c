// SPDX-License-Identifier: Apache-2.0
// Models the unified memory of GPUs as NVIDIA's driver manages it (its open kernel modules,
// kernel-open/nvidia-uvm; described by D. Ganguly et al., "Interplay between hardware prefetcher and page eviction
// policy in CPU-GPU unified virtual memory", ISCA 2019, and T. Allen and R. Ge, SC 2021). `terrace lab gpu
// --policy unified-memory` simulates it; other names select its other modes (gpu_policies.cpp):
//
// - An access to a chunk in slow memory faults; the chunk is promoted with its aligned 64 KiB.
// - Tree prefetching: a binary tree over the 64 KiB leaves covers a block of 2 MiB. The largest subtree around the
//   fault of which more than 51 % are in fast memory or in flight is promoted as a whole.
// - Eviction is by whole blocks of 2 MiB, in order of allocation.
// - Access counters, if the GPU reaches slow memory by a coherent link: nothing faults, and 64 KiB are promoted
//   after 256 accesses. Accesses are counted per chunk, and their sum is compared in steps of 16.
//
// Blocks lie within an object, from its first chunk on.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "core/identifiers.hpp"
#include "strategy/policy.hpp"
#include "strategy/tiering/object_chunks.hpp"
#include "strategy/tiering/promotion.hpp"

namespace terrace::strategy {

enum class UnifiedMemoryMode : std::uint8_t {
  first_touch,      // by fault, chunk by chunk
  prefetch,         // by fault, with tree prefetching
  access_counters,  // without faults
};

class UnifiedMemoryPolicy final : public Policy {
 public:
  explicit UnifiedMemoryPolicy(UnifiedMemoryMode mode) : mode_(mode) {}
  [[nodiscard]] PolicyNeeds needs() const override;
  void decide(const observe::Observation&, const Tiers&, PolicyChoice&) override {}
  void on_touch(ChunkId chunk, const Tiers& tiers, PolicyChoice& choice) override;
  void on_fault(std::span<const ChunkId> chunks, const Tiers& tiers, PolicyChoice& choice) override;
  void on_move_rejected(ChunkId chunk) override { fifo_.on_move_rejected(chunk); }

 private:
  [[nodiscard]] ChunkRange object_of(ChunkId chunk, const Tiers& tiers);
  // Returns the aligned range of `bytes` of the chunk's object that contains the chunk.
  [[nodiscard]] ChunkRange aligned_range(ChunkId chunk, std::uint64_t bytes, const Tiers& tiers);
  [[nodiscard]] ChunkRange dense_subtree(ChunkId chunk, const Tiers& tiers);
  // Returns whether the chunk is in fast memory or being promoted.
  [[nodiscard]] bool is_promoted_or_resident(ChunkId chunk, const Tiers& tiers) const;
  void promote(ChunkRange wanted, const Tiers& tiers, PolicyChoice& choice);
  // Evicts the block that was allocated first, except the one that begins at `but`. Returns whether there was one.
  bool evict_block(ChunkId but, const Tiers& tiers, PolicyChoice& choice);

  UnifiedMemoryMode mode_;
  PromotionFifo fifo_;
  std::unordered_map<ChunkId, std::uint32_t> touches_;  // by the first chunk of 64 KiB
  std::unordered_map<ObjectId, ChunkRange> objects_;
  std::deque<ChunkId> blocks_;  // their first chunks, in the order of allocation
};

}  // namespace terrace::strategy
