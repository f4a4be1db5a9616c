// Pages of a GPU that reaches slow memory by a coherent link (Agarwal et al., "Unlocking bandwidth for GPUs in
// CC-NUMA systems", HPCA 2015), chunk by chunk:
//
// - Threshold: a chunk moves to fast memory once it was accessed so often (section III).
// - Range expansion: `range` chunks around it, of the same object, go along, the farthest first: those are least
//   likely to have been accessed yet, so that no translation of theirs has to be shot down (section IV).
// - Balancing: as many moves at once as can be while fast memory serves less of the traffic than its share of both
//   bandwidths less 5 %, half of them within 5 %, none above (section V). The paper speaks of a moving average
//   without more: here each sample counts as much as all before it together.
// - Eviction: where there is no room, what came first leaves. Without it, what finds no room stays.
// - Reverse migration, which the paper names as future work: while fast memory serves more than its share and 5 %,
//   what came first leaves, a sixteenth of what is too much at each sample.
#pragma once

#include <cstdint>

#include "strategy/policy.hpp"
#include "strategy/tiering/bandwidth_balance.hpp"
#include "strategy/tiering/promotion_fifo.hpp"

namespace terrace::strategy {

struct TouchRules {
  std::uint32_t threshold = 1;  // accesses
  std::uint32_t range = 0;      // chunks beside the one that was touched, half of them on each side
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
