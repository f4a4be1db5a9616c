// What an iteration gains by moves of chunks away from where they reside now, by the time law of a problem that
// was made of a profile of it. Gains of single moves do not add up: a move changes which memory a phase waits for,
// so moves that are decided on are applied, and the gains of others are looked up anew.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "core/identifiers.hpp"
#include "core/units.hpp"
#include "model/loads.hpp"
#include "model/problem.hpp"

namespace terrace::strategy {

class MoveGains {
 public:
  // `items_by_chunk`: as model::items_by_chunk() has it.
  MoveGains(model::Problem problem, std::vector<std::uint32_t> items_by_chunk);
  MoveGains(const MoveGains&) = delete;
  MoveGains& operator=(const MoveGains&) = delete;

  // `places` and `sizes`: of each chunk now. Chunks that the problem does not know, or of no place, gain nothing.
  void begin(std::vector<PlaceId> places, const std::vector<Bytes>& sizes);
  // Returns what an iteration takes less once the chunk has moved.
  [[nodiscard]] Seconds gain(ChunkId chunk, PlaceId to);
  void apply(ChunkId chunk, PlaceId to);
  // Returns what looking up gains has taken of a processor since the last time that it was asked for
  // (model/costs.hpp).
  [[nodiscard]] Seconds take_cost();

 private:
  [[nodiscard]] bool knows(ChunkId chunk) const;
  [[nodiscard]] model::ItemCell part_of(const model::ItemCell& cell, ChunkId chunk) const;

  model::Problem problem_;
  model::Uses uses_;
  std::vector<std::uint32_t> items_;  // by chunk
  std::vector<PlaceId> places_;       // by chunk
  std::vector<double> shares_;        // by chunk: of its item's bytes
  std::vector<model::PhaseLoad> loads_;
  std::uint64_t looked_at_ = 0;  // uses
};

}  // namespace terrace::strategy
