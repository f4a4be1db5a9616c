// SPDX-License-Identifier: Apache-2.0
// Balances the traffic of a GPU, which hides latency and is limited by bandwidth, so that both memories are busy
// at the same time. This policy is Terrace's own; `terrace lab gpu --policy even` simulates the first of its two
// starts, `even-moves` the second.
//
// - Placed: chunks are allocated in fast and slow memory alternately, in the ratio of the bandwidths, whatever
//   their use. So the hot chunks, and the data of each phase, are in both memories: fast memory serves its share
//   at any time, not only on average. Nothing has to move.
// - Moved: all data begin in slow memory. Chunks of the objects in use are promoted, those farthest from the
//   present accesses first. A chunk that was not accessed yet needs no TLB shootdown, and is read from slow memory
//   once, by the mover instead of the program. An accessed one is promoted only if it is used repeatedly: if it
//   was accessed twice as often as it has lines. As many promotions are requested at a time as complete within an
//   interval.
// - Balanced: promotion stops once fast memory serves its share. While it serves over 5 % more than its share, and
//   is busier than slow memory, the oldest promoted chunks are demoted.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/identifiers.hpp"
#include "strategy/policy.hpp"
#include "strategy/tiering/bandwidth_balance.hpp"
#include "strategy/tiering/object_chunks.hpp"
#include "strategy/tiering/promotion.hpp"

namespace terrace::strategy {

enum class EvenStart : std::uint8_t {
  placed,  // chunks are allocated in both memories
  slow,    // all data begin in slow memory and are promoted
};

class EvenPolicy final : public Policy {
 public:
  explicit EvenPolicy(EvenStart start) : start_(start) {}
  [[nodiscard]] PolicyNeeds needs() const override;
  [[nodiscard]] std::optional<PlaceId> first_place(const Tiers& tiers) override;
  void on_touch(ChunkId chunk, const Tiers& tiers, PolicyChoice& choice) override;
  void decide(const observe::Observation& seen, const Tiers& tiers, PolicyChoice& choice) override;
  void on_move_rejected(ChunkId chunk) override { fifo_.on_move_rejected(chunk); }

 private:
  struct InUse {
    ChunkRange all;             // of the object
    ChunkRange left;            // of those, the chunks not yet considered for promotion in this pass
    ChunkId accessed = 0;       // most recently
    std::uint64_t touches = 0;  // in this interval
  };
  InUse& find(ChunkId chunk, const Tiers& tiers);
  [[nodiscard]] bool pays(ChunkId chunk, const Tiers& tiers) const;
  void promote(const Tiers& tiers, PolicyChoice& choice);
  void promote_from(InUse& use, std::uint64_t count, const Tiers& tiers, PolicyChoice& choice);

  EvenStart start_;
  double due_ = 0;  // fractional chunks to allocate in fast memory
  PromotionFifo fifo_;
  std::map<ObjectId, InUse> objects_;
  std::vector<std::uint32_t> touches_;  // by chunk, while it was in slow memory
  ServedShare served_;
  std::uint64_t asked_ = 16;  // max promotions in flight, adapted in each interval
};

}  // namespace terrace::strategy
