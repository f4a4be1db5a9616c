// Terrace's own policy for a processor that hides latency and lives on bandwidth: both memories are to be busy at
// the same time, all the time.
//
// - Placed: chunks are made in fast memory and in slow memory in turns, by the two bandwidths, whatever they will
//   be used for. Hot chunks are then in both, and so is what each phase of the program uses: fast memory serves
//   its share at any time, not on average alone. Nothing has to move.
// - Moved: all data begin in slow memory. Chunks of the objects in use come in, those first that are farthest from
//   where the object is being accessed. A chunk that was not accessed yet costs no shootdown, and is read from
//   slow memory once, by the mover instead of the program. One that was accessed comes in only if it is used again
//   and again: if it was accessed twice as often as it has lines. As many are asked for at a time as are done
//   until the next look.
// - Balanced: no more come in once fast memory serves its share. While it serves more than that and 5 %, and is
//   busier than slow memory, what came first leaves.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/identifiers.hpp"
#include "strategy/policy.hpp"
#include "strategy/tiering/bandwidth_balance.hpp"
#include "strategy/tiering/object_chunks.hpp"
#include "strategy/tiering/promotion_fifo.hpp"

namespace terrace::strategy {

enum class EvenStart : std::uint8_t {
  placed,  // chunks are made where they shall be
  slow,    // all data are in slow memory, and come in
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
    ChunkRange left;            // of those, what was not looked at for moving this time
    ChunkId accessed = 0;       // last
    std::uint64_t touches = 0;  // since the last look
  };
  InUse& find(ChunkId chunk, const Tiers& tiers);
  [[nodiscard]] bool pays(ChunkId chunk, const Tiers& tiers) const;
  void promote(const Tiers& tiers, PolicyChoice& choice);
  void promote_from(InUse& use, std::uint64_t count, const Tiers& tiers, PolicyChoice& choice);

  EvenStart start_;
  double due_ = 0;  // of a chunk in fast memory, by those that were made
  PromotionFifo fifo_;
  std::map<ObjectId, InUse> objects_;
  std::vector<std::uint32_t> touches_;  // by chunk, while it was in slow memory
  ServedShare served_;
  std::uint64_t asked_ = 16;  // chunks at the last look
};

}  // namespace terrace::strategy
