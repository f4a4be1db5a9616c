// SPDX-License-Identifier: Apache-2.0
// Tracks the chunks that a policy has promoted, in request order, and the free space after all pending moves.
// Policies without better information (those for GPUs) evict in FIFO order. Also promotes ranked candidates and
// evicts victims for the variants in policies/ (promote_and_evict()).
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "strategy/policy.hpp"

namespace terrace::strategy {

class PromotionFifo {
 public:
  // Requests the promotion of the chunk.
  void promote(ChunkId chunk, const Tiers& tiers, PolicyChoice& choice);
  // Requests the demotion of the chunk.
  void demote(ChunkId chunk, const Tiers& tiers, PolicyChoice& choice);
  // Returns whether the chunk was promoted, or its promotion is in flight.
  [[nodiscard]] bool is_promoted(ChunkId chunk) const { return chunk < promoted_.size() && promoted_[chunk]; }
  [[nodiscard]] std::size_t num_promoted() const { return in_order_.size(); }
  // Reverts the state of a requested move that the mover rejected.
  void on_move_rejected(ChunkId chunk);
  // Removes and returns the chunk that has been in fast memory longest; none if no promoted chunk is there.
  std::optional<ChunkId> pop_oldest(const Tiers& tiers);
  // Returns the number of promotions in flight.
  [[nodiscard]] std::size_t num_in_flight(const Tiers& tiers);
  // Returns the free bytes of fast memory after all pending moves.
  [[nodiscard]] std::uint64_t free_bytes(const Tiers& tiers);
  // Demotes the oldest chunks until `bytes` are free. Returns whether they are.
  bool evict_until_fits(Bytes bytes, const Tiers& tiers, PolicyChoice& choice);

 private:
  struct Pending {
    ChunkId chunk = 0;
    std::uint64_t bytes = 0;
  };
  void retire_completed(const Tiers& tiers);

  std::deque<ChunkId> in_order_;
  std::deque<Pending> incoming_;
  std::vector<bool> promoted_;  // by chunk: promotion requested, and no demotion since
  std::deque<Pending> leaving_;
  std::uint64_t incoming_bytes_ = 0;
  std::uint64_t leaving_bytes_ = 0;
};

// Promotes as many of `candidates`, in their order, as fit while `reserve` stays free. Demotes `victims`, in their
// order, as far as needed; a victim is demoted only if `worth` accepts the pair. Returns the promoted bytes.
Bytes promote_and_evict(const Tiers& tiers, std::span<const ChunkId> candidates, std::span<const ChunkId> victims,
                        Bytes reserve, PolicyChoice& choice,
                        const std::function<bool(ChunkId candidate, ChunkId victim)>& worth);

}  // namespace terrace::strategy
