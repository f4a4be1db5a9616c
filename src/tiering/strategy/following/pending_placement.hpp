// SPDX-License-Identifier: Apache-2.0
// Predicts the placement and the free capacity once all pending moves are done. Used where moves are chosen: by
// PlanExecutor, by migration in steps and by the restoring of places (learning/).
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "strategy/strategy.hpp"

namespace terrace::strategy {

// Moves that were requested and are not done yet: chunk and target (Requests::pending_moves()).
using PendingMoves = std::vector<std::pair<ChunkId, PlaceId>>;

// Returns the places of chunks after all pending moves.
class PendingPlacement {
 public:
  PendingPlacement(const memory::ChunkTable& chunks, const PendingMoves& pending) : chunks_(chunks) {
    for (const auto& [chunk, to] : pending) pending_[chunk] = to;
  }
  [[nodiscard]] PlaceId place_of(ChunkId chunk) const {
    const auto found = pending_.find(chunk);
    return found != pending_.end() ? found->second : chunks_[chunk].place.load(std::memory_order_relaxed);
  }

 private:
  const memory::ChunkTable& chunks_;
  std::map<ChunkId, PlaceId> pending_;
};

// Tracks the free capacity of places after all pending moves. A transfer that has begun counts twice on its
// target.
class PendingCapacity {
 public:
  PendingCapacity(const Context& context, const PendingMoves& pending) : chunks_(*context.chunks) {
    for (std::size_t p = 0; p < context.machine->places().size(); ++p)
      left_.push_back(static_cast<std::int64_t>(context.ledger->available(static_cast<PlaceId>(p)).value));
    for (const auto& [chunk, to] : pending) static_cast<void>(move(chunk, to, true));
  }
  // Accounts for a further move. Returns false, and does nothing, if the target has too little free capacity;
  // `force` accounts for it in any case.
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
