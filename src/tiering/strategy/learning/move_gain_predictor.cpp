// SPDX-License-Identifier: Apache-2.0
// Predicts how much an iteration gains if a chunk moves, by the loads of a profiled iteration, for
// StepwiseMigration. See move_gain_predictor.hpp.
#include "strategy/learning/move_gain_predictor.hpp"

#include <utility>

#include "model/costs.hpp"

namespace terrace::strategy {

MoveGainPredictor::MoveGainPredictor(model::Problem problem, std::vector<std::uint32_t> items_by_chunk)
    : problem_(std::move(problem)), uses_(model::uses_by_item(problem_)), items_(std::move(items_by_chunk)) {}

bool MoveGainPredictor::is_known(ChunkId chunk) const {
  return chunk < items_.size() && chunk < places_.size() && items_[chunk] != model::k_no_item &&
         places_[chunk] != k_no_place;
}

model::ItemCell MoveGainPredictor::chunk_share(const model::ItemCell& cell, ChunkId chunk) const {
  auto part = cell;
  part.read_bytes *= shares_[chunk];
  part.write_bytes *= shares_[chunk];
  part.exposure *= shares_[chunk];
  return part;
}

void MoveGainPredictor::begin(std::vector<PlaceId> places, const std::vector<Bytes>& sizes) {
  places_ = std::move(places);
  shares_.assign(places_.size(), 0);
  loads_.clear();
  for (const auto& phase : problem_.phases) loads_.emplace_back(problem_, phase);
  for (ChunkId chunk = 0; chunk < places_.size(); ++chunk) {
    if (!is_known(chunk)) continue;
    const auto item = items_[chunk];
    shares_[chunk] =
        static_cast<double>(sizes[chunk].value) / static_cast<double>(problem_.items[item].size.value);
    for (const auto& use : uses_[item]) loads_[use.phase].put(chunk_share(*use.cell, chunk), places_[chunk]);
    num_uses_read_ += uses_[item].size();
  }
}

Seconds MoveGainPredictor::gain(ChunkId chunk, PlaceId to) {
  if (!is_known(chunk) || places_[chunk] == to) return {};
  double gain = 0;
  for (const auto& use : uses_[items_[chunk]]) {
    const auto& load = loads_[use.phase];
    gain += load.time() - load.time_if_moved(chunk_share(*use.cell, chunk), places_[chunk], to);
  }
  num_uses_read_ += uses_[items_[chunk]].size();
  return Seconds{gain};
}

void MoveGainPredictor::apply(ChunkId chunk, PlaceId to) {
  if (!is_known(chunk)) return;
  const auto from = std::exchange(places_[chunk], to);
  for (const auto& use : uses_[items_[chunk]]) {
    const auto part = chunk_share(*use.cell, chunk);
    loads_[use.phase].take(part, from);
    loads_[use.phase].put(part, to);
  }
  num_uses_read_ += uses_[items_[chunk]].size();
}

Seconds MoveGainPredictor::take_cost() {
  return static_cast<double>(std::exchange(num_uses_read_, 0)) * model::k_gain_cost;
}

}  // namespace terrace::strategy
