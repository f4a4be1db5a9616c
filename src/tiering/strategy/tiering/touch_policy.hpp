// SPDX-License-Identifier: Apache-2.0
// Migrates pages of a GPU that reaches slow memory by a coherent link (Agarwal et al., "Unlocking bandwidth for
// GPUs in CC-NUMA systems", HPCA 2015), chunk by chunk; `terrace lab gpu --policy touch` simulates it:
//
// - Threshold: a chunk is promoted after `threshold` accesses (section III).
// - Range expansion: `range` chunks around it, of the same object, are promoted with it, the farthest first. Those
//   are least likely to have been accessed yet, so that they need no TLB shootdown (section IV).
// - Balancing: the mover runs at full concurrency while fast memory serves less of the traffic than its share of
//   both bandwidths less 5 %, at half within 5 %, and pauses above (section V). The paper does not define its
//   moving average: here each sample weighs as much as all earlier ones.
// - Eviction: if fast memory is full, the oldest promoted chunks are demoted. Without it, the chunk is not
//   promoted.
// - Reverse migration, which the paper names as future work: while fast memory serves over 5 % more than its
//   share, the oldest promoted chunks are demoted, a sixteenth of the surplus at each sample.
#pragma once

#include <cstdint>

#include "strategy/policy.hpp"
#include "strategy/tiering/bandwidth_balance.hpp"
#include "strategy/tiering/promotion.hpp"

namespace terrace::strategy {

// The parts of the policy that are in force; options of `terrace lab gpu` set them.
struct TouchRules {
  std::uint32_t threshold = 1;  // accesses
  std::uint32_t range = 0;      // neighbours promoted with the touched chunk, half of them on each side
  bool balanced = false;
  bool evicts = false;
  bool reverses = false;
};

class TouchPolicy final : public Policy {
 public:
  explicit TouchPolicy(TouchRules rules) : rules_(rules) {}
  [[nodiscard]] PolicyNeeds needs() const override;
  void decide(const observe::Observation& seen, const Tiers& tiers, PolicyChoice& choice) override;
  void on_touch(ChunkId chunk, const Tiers& tiers, PolicyChoice& choice) override;
  void on_move_rejected(ChunkId chunk) override { fifo_.on_move_rejected(chunk); }

 private:
  void request_promotion(ChunkId chunk, const Tiers& tiers, PolicyChoice& choice);

  TouchRules rules_;
  PromotionFifo fifo_;
  ServedShare served_;
};

}  // namespace terrace::strategy
