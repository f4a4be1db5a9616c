// Today's unified memory of GPUs, as NVIDIA's driver keeps it (its open kernel modules, kernel-open/nvidia-uvm;
// described by D. Ganguly et al., "Interplay between hardware prefetcher and page eviction policy in CPU-GPU
// unified virtual memory", ISCA 2019, and T. Allen and R. Ge, SC 2021):
//
// - An access to a chunk in slow memory is a fault; the chunk comes in with the 64 KiB that it is of.
// - Prefetching by density: over those, a binary tree up to blocks of 2 MiB. The largest part around the fault of
//   which more than 51 % are in fast memory or on their way comes in as a whole.
// - Room is made by whole blocks of 2 MiB, the one whose memory was allocated first.
// - Access counters, where the GPU reaches slow memory by a coherent link: nothing faults, and 64 KiB that were
//   accessed 256 times come in. Chunks are counted one by one, and their sum is compared in steps of 16.
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
#include "strategy/tiering/promotion_fifo.hpp"

namespace terrace::strategy {

enum class UnifiedMemoryMode : std::uint8_t {
  first_touch,      // by fault, chunk by chunk
  prefetch,         // by fault, with the tree
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
  // The aligned part of the chunk's object of so many bytes that has the chunk.
  [[nodiscard]] ChunkRange aligned_range(ChunkId chunk, std::uint64_t bytes, const Tiers& tiers);
  [[nodiscard]] ChunkRange dense_subtree(ChunkId chunk, const Tiers& tiers);
  // It is in fast memory, or on its way there.
  [[nodiscard]] bool is_promoted_or_resident(ChunkId chunk, const Tiers& tiers) const;
  void promote(ChunkRange wanted, const Tiers& tiers, PolicyChoice& choice);
  // The block that was allocated first, but for the one that begins there; whether there is one.
  bool evict_block(ChunkId but, const Tiers& tiers, PolicyChoice& choice);

  UnifiedMemoryMode mode_;
  PromotionFifo fifo_;
  std::unordered_map<ChunkId, std::uint32_t> touches_;  // by the first chunk of 64 KiB
  std::unordered_map<ObjectId, ChunkRange> objects_;
  std::deque<ChunkId> blocks_;  // their first chunks, in the order of allocation
};

}  // namespace terrace::strategy
