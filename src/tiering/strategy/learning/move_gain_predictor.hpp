// SPDX-License-Identifier: Apache-2.0
// Predicts the gain of moving chunks from their present places, by the time law of a profiled iteration, for
// StepwiseMigration. Gains do not add up: a move changes which memory a phase waits for. So moves that are decided
// on are applied, and the remaining gains are predicted anew.
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

class MoveGainPredictor {
 public:
  // `items_by_chunk`: see model::items_by_chunk().
  MoveGainPredictor(model::Problem problem, std::vector<std::uint32_t> items_by_chunk);
  MoveGainPredictor(const MoveGainPredictor&) = delete;
  MoveGainPredictor& operator=(const MoveGainPredictor&) = delete;

  // Begins at the present placement: place and size of each chunk. Chunks without a place or outside of the
  // problem have gain 0.
  void begin(std::vector<PlaceId> places, const std::vector<Bytes>& sizes);
  // Returns by how much an iteration is shorter once the chunk has moved.
  [[nodiscard]] Seconds gain(ChunkId chunk, PlaceId to);
  // Applies a move that was decided on.
  void apply(ChunkId chunk, PlaceId to);
  // Returns the modelled processor time of the predictions since the last call (model/costs.hpp).
  [[nodiscard]] Seconds take_cost();

 private:
  [[nodiscard]] bool is_known(ChunkId chunk) const;
  [[nodiscard]] model::ItemCell chunk_share(const model::ItemCell& cell, ChunkId chunk) const;

  model::Problem problem_;
  model::Uses uses_;
  std::vector<std::uint32_t> items_;  // by chunk
  std::vector<PlaceId> places_;       // by chunk
  std::vector<double> shares_;        // by chunk: of its item's bytes
  std::vector<model::PhaseLoad> loads_;
  std::uint64_t num_uses_read_ = 0;  // uses
};

}  // namespace terrace::strategy
