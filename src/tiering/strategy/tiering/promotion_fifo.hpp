// The chunks that a policy brought into fast memory, in the order in which it asked for them, and the room that is
// left once all that it asked for is done. Who has no better knowledge makes room by the oldest.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "strategy/policy.hpp"

namespace terrace::strategy {

class PromotionFifo {
 public:
  // Asks for it to come in.
  void promote(ChunkId chunk, const Tiers& tiers, PolicyChoice& choice);
  // Asks for it to leave.
  void demote(ChunkId chunk, const Tiers& tiers, PolicyChoice& choice);
  [[nodiscard]] bool is_promoted(ChunkId chunk) const { return chunk < promoted_.size() && promoted_[chunk]; }
  [[nodiscard]] std::size_t num_promoted() const { return in_order_.size(); }
  // It was asked for or asked to leave, and stays where it is.
  void on_move_rejected(ChunkId chunk);
  // The one that has been there longest; none: nothing is there that was brought. It is taken off the list.
  std::optional<ChunkId> pop_oldest(const Tiers& tiers);
  // That were asked for and are not there.
  [[nodiscard]] std::size_t num_in_flight(const Tiers& tiers);
  // Bytes that are free once all moves are done.
  [[nodiscard]] std::uint64_t free_bytes(const Tiers& tiers);
  // Sends back the oldest until there is room; whether there is.
  bool evict_until_fits(Bytes bytes, const Tiers& tiers, PolicyChoice& choice);

 private:
  struct Pending {
    ChunkId chunk = 0;
    std::uint64_t bytes = 0;
  };
  void retire_completed(const Tiers& tiers);

  std::deque<ChunkId> in_order_;
  std::deque<Pending> incoming_;
  std::vector<bool> promoted_;  // by chunk: asked for, and since then not asked to leave
  std::deque<Pending> leaving_;
  std::uint64_t incoming_bytes_ = 0;
  std::uint64_t leaving_bytes_ = 0;
};

}  // namespace terrace::strategy
