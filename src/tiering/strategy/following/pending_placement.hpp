// What becomes of places once all moves under way are done.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "strategy/strategy.hpp"

namespace terrace::strategy {

using UnderWay = std::vector<std::pair<ChunkId, PlaceId>>;

// Where chunks reside then.
class PendingPlacement {
 public:
  PendingPlacement(const memory::ChunkTable& chunks, const UnderWay& under_way) : chunks_(chunks) {
    for (const auto& [chunk, to] : under_way) under_way_[chunk] = to;
  }
  [[nodiscard]] PlaceId of(ChunkId chunk) const {
    const auto found = under_way_.find(chunk);
    return found != under_way_.end() ? found->second : chunks_[chunk].place.load(std::memory_order_relaxed);
  }

 private:
  const memory::ChunkTable& chunks_;
  std::map<ChunkId, PlaceId> under_way_;
};

// What room there is then. A transfer that has begun counts twice on its target.
class RoomAhead {
 public:
  RoomAhead(const Context& context, const UnderWay& under_way) : chunks_(*context.chunks) {
    for (std::size_t p = 0; p < context.machine->places().size(); ++p)
      left_.push_back(static_cast<std::int64_t>(context.ledger->available(static_cast<PlaceId>(p)).value));
    for (const auto& [chunk, to] : under_way) static_cast<void>(move(chunk, to, true));
  }
  // Whether there is room for it by then; `force`: it was asked for whether there is or not.
  bool move(ChunkId chunk, PlaceId to, bool force = false) {
    const auto size = static_cast<std::int64_t>(chunks_[chunk].size);
    const auto [known, is_new] = resides_.try_emplace(chunk, chunks_[chunk].place.load(std::memory_order_relaxed));
    const auto from = known->second;
    if (from == to) return true;
    if (!force && left_[to] < size) return false;
    left_[to] -= size;
    if (from != k_no_place) left_[from] += size;
    known->second = to;
    return true;
  }

 private:
  const memory::ChunkTable& chunks_;
  std::vector<std::int64_t> left_;  // bytes, by place
  std::map<ChunkId, PlaceId> resides_;
};

}  // namespace terrace::strategy
