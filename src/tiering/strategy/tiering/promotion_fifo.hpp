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
  void bring(ChunkId chunk, const Tiers& tiers, PolicyChoice& choice);
  // Asks for it to leave.
  void send_back(ChunkId chunk, const Tiers& tiers, PolicyChoice& choice);
  [[nodiscard]] bool is_here_or_coming(ChunkId chunk) const {
    return chunk < here_or_coming_.size() && here_or_coming_[chunk];
  }
  [[nodiscard]] std::size_t brought() const { return in_order_.size(); }
  // It was asked for or asked to leave, and stays where it is.
  void stayed(ChunkId chunk);
  // The one that has been there longest; none: nothing is there that was brought. It is taken off the list.
  std::optional<ChunkId> take_oldest(const Tiers& tiers);
  // That were asked for and are not there.
  [[nodiscard]] std::size_t coming(const Tiers& tiers);
  // Bytes that are free once all moves are done.
  [[nodiscard]] std::uint64_t room(const Tiers& tiers);
  // Sends back the oldest until there is room; whether there is.
  bool make_room(Bytes bytes, const Tiers& tiers, PolicyChoice& choice);

 private:
  struct Pending {
    ChunkId chunk = 0;
    std::uint64_t bytes = 0;
  };
  void forget_what_is_done(const Tiers& tiers);

  std::deque<ChunkId> in_order_;
  std::deque<Pending> coming_;
  std::vector<bool> here_or_coming_;  // by chunk: asked for, and since then not asked to leave
  std::deque<Pending> leaving_;
  std::uint64_t coming_bytes_ = 0;
  std::uint64_t leaving_bytes_ = 0;
};

}  // namespace terrace::strategy
