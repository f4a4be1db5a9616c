// SPDX-License-Identifier: Apache-2.0
// Tracks promoted chunks and pending moves in FIFO order, for GPU policies; promotes candidates and evicts victims
// for them, for the variants in policies/. See promotion.hpp.
#include "strategy/tiering/promotion.hpp"

#include <algorithm>

namespace terrace::strategy {

void PromotionFifo::promote(ChunkId chunk, const Tiers& tiers, PolicyChoice& choice) {
  choice.moves.push_back({chunk, tiers.fast});
  if (chunk >= promoted_.size()) promoted_.resize(tiers.chunks->size());
  promoted_[chunk] = true;
  in_order_.push_back(chunk);
  incoming_.push_back({chunk, tiers.size(chunk).value});
  incoming_bytes_ += tiers.size(chunk).value;
}

void PromotionFifo::demote(ChunkId chunk, const Tiers& tiers, PolicyChoice& choice) {
  choice.moves.push_back({chunk, tiers.slow});
  if (chunk < promoted_.size()) promoted_[chunk] = false;
  leaving_.push_back({chunk, tiers.size(chunk).value});
  leaving_bytes_ += tiers.size(chunk).value;
}

void PromotionFifo::on_move_rejected(ChunkId chunk) {
  const auto is_it = [&](const Pending& pending) { return pending.chunk == chunk; };
  if (const auto found = std::find_if(incoming_.begin(), incoming_.end(), is_it); found != incoming_.end()) {
    incoming_bytes_ -= found->bytes;
    incoming_.erase(found);
    promoted_[chunk] = false;
    std::erase(in_order_, chunk);
  } else if (const auto left = std::find_if(leaving_.begin(), leaving_.end(), is_it); left != leaving_.end()) {
    leaving_bytes_ -= left->bytes;
    leaving_.erase(left);
    promoted_[chunk] = true;
    in_order_.push_back(chunk);
  }
}

// A chunk whose promotion is still pending returns to the end of the queue.
std::optional<ChunkId> PromotionFifo::pop_oldest(const Tiers& tiers) {
  for (auto left = in_order_.size(); left != 0; --left) {
    const auto chunk = in_order_.front();
    in_order_.pop_front();
    if (tiers.is_on(chunk, tiers.fast)) return chunk;
    in_order_.push_back(chunk);
  }
  return std::nullopt;
}

// Assumes that moves complete in request order, which concurrent transfers may violate briefly.
void PromotionFifo::retire_completed(const Tiers& tiers) {
  while (!incoming_.empty() && !tiers.is_on(incoming_.front().chunk, tiers.slow)) {
    incoming_bytes_ -= incoming_.front().bytes;
    incoming_.pop_front();
  }
  while (!leaving_.empty() && !tiers.is_on(leaving_.front().chunk, tiers.fast)) {
    leaving_bytes_ -= leaving_.front().bytes;
    leaving_.pop_front();
  }
}

std::size_t PromotionFifo::num_in_flight(const Tiers& tiers) {
  retire_completed(tiers);
  return incoming_.size();
}

std::uint64_t PromotionFifo::free_bytes(const Tiers& tiers) {
  retire_completed(tiers);
  const auto free = tiers.free.value + leaving_bytes_;
  return free > incoming_bytes_ ? free - incoming_bytes_ : 0;
}

bool PromotionFifo::evict_until_fits(Bytes bytes, const Tiers& tiers, PolicyChoice& choice) {
  while (free_bytes(tiers) < bytes.value) {
    const auto oldest = pop_oldest(tiers);
    if (!oldest) return false;
    demote(*oldest, tiers, choice);
  }
  return true;
}

Bytes promote_and_evict(const Tiers& tiers, std::span<const ChunkId> candidates, std::span<const ChunkId> victims,
                        Bytes reserve, PolicyChoice& choice,
                        const std::function<bool(ChunkId candidate, ChunkId victim)>& worth) {
  auto free = tiers.free;
  std::size_t gone = 0;
  Bytes promoted;
  for (const auto candidate : candidates) {
    const auto needed = tiers.size(candidate) + reserve;
    auto freed = free;
    auto until = gone;
    while (freed < needed && until < victims.size() && worth(candidate, victims[until]))
      freed += tiers.size(victims[until++]);
    if (freed < needed) continue;
    for (; gone < until; ++gone) choice.moves.push_back({victims[gone], tiers.slow});
    choice.moves.push_back({candidate, tiers.fast});
    free = freed - tiers.size(candidate);
    promoted += tiers.size(candidate);
  }
  return promoted;
}

}  // namespace terrace::strategy
