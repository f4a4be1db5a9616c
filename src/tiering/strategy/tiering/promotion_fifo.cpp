// See promotion_fifo.hpp.
#include "strategy/tiering/promotion_fifo.hpp"

#include <algorithm>

namespace terrace::strategy {

void PromotionFifo::bring(ChunkId chunk, const Tiers& tiers, PolicyChoice& choice) {
  choice.moves.push_back({chunk, tiers.fast});
  if (chunk >= here_or_coming_.size()) here_or_coming_.resize(tiers.chunks->size());
  here_or_coming_[chunk] = true;
  in_order_.push_back(chunk);
  coming_.push_back({chunk, tiers.size(chunk).value});
  coming_bytes_ += tiers.size(chunk).value;
}

void PromotionFifo::send_back(ChunkId chunk, const Tiers& tiers, PolicyChoice& choice) {
  choice.moves.push_back({chunk, tiers.slow});
  if (chunk < here_or_coming_.size()) here_or_coming_[chunk] = false;
  leaving_.push_back({chunk, tiers.size(chunk).value});
  leaving_bytes_ += tiers.size(chunk).value;
}

void PromotionFifo::stayed(ChunkId chunk) {
  const auto is_it = [&](const Pending& pending) { return pending.chunk == chunk; };
  if (const auto found = std::find_if(coming_.begin(), coming_.end(), is_it); found != coming_.end()) {
    coming_bytes_ -= found->bytes;
    coming_.erase(found);
    here_or_coming_[chunk] = false;
    std::erase(in_order_, chunk);
  } else if (const auto left = std::find_if(leaving_.begin(), leaving_.end(), is_it); left != leaving_.end()) {
    leaving_bytes_ -= left->bytes;
    leaving_.erase(left);
    here_or_coming_[chunk] = true;
    in_order_.push_back(chunk);
  }
}

// One that is still on its way in goes back to the end.
std::optional<ChunkId> PromotionFifo::take_oldest(const Tiers& tiers) {
  for (auto left = in_order_.size(); left != 0; --left) {
    const auto chunk = in_order_.front();
    in_order_.pop_front();
    if (tiers.on(chunk, tiers.fast)) return chunk;
    in_order_.push_back(chunk);
  }
  return std::nullopt;
}

// Moves end in the order in which they were asked for, but for what a mover does side by side.
void PromotionFifo::forget_what_is_done(const Tiers& tiers) {
  while (!coming_.empty() && !tiers.on(coming_.front().chunk, tiers.slow)) {
    coming_bytes_ -= coming_.front().bytes;
    coming_.pop_front();
  }
  while (!leaving_.empty() && !tiers.on(leaving_.front().chunk, tiers.fast)) {
    leaving_bytes_ -= leaving_.front().bytes;
    leaving_.pop_front();
  }
}

std::size_t PromotionFifo::coming(const Tiers& tiers) {
  forget_what_is_done(tiers);
  return coming_.size();
}

std::uint64_t PromotionFifo::room(const Tiers& tiers) {
  forget_what_is_done(tiers);
  const auto free = tiers.free.value + leaving_bytes_;
  return free > coming_bytes_ ? free - coming_bytes_ : 0;
}

bool PromotionFifo::make_room(Bytes bytes, const Tiers& tiers, PolicyChoice& choice) {
  while (room(tiers) < bytes.value) {
    const auto oldest = take_oldest(tiers);
    if (!oldest) return false;
    send_back(*oldest, tiers, choice);
  }
  return true;
}

}  // namespace terrace::strategy
