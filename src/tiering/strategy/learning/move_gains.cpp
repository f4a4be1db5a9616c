// See move_gains.hpp.
#include "strategy/learning/move_gains.hpp"

#include <utility>

#include "model/costs.hpp"

namespace terrace::strategy {

MoveGains::MoveGains(model::Problem problem, std::vector<std::uint32_t> items_by_chunk)
    : problem_(std::move(problem)), uses_(model::uses_by_item(problem_)), items_(std::move(items_by_chunk)) {}

bool MoveGains::knows(ChunkId chunk) const {
  return chunk < items_.size() && chunk < places_.size() && items_[chunk] != model::k_no_item &&
         places_[chunk] != k_no_place;
}

model::ItemCell MoveGains::part_of(const model::ItemCell& cell, ChunkId chunk) const {
  auto part = cell;
  part.read_bytes *= shares_[chunk];
  part.write_bytes *= shares_[chunk];
  part.exposure *= shares_[chunk];
  return part;
}

void MoveGains::begin(std::vector<PlaceId> places, const std::vector<Bytes>& sizes) {
  places_ = std::move(places);
  shares_.assign(places_.size(), 0);
  loads_.clear();
  for (const auto& phase : problem_.phases) loads_.emplace_back(problem_, phase);
  for (ChunkId chunk = 0; chunk < places_.size(); ++chunk) {
    if (!knows(chunk)) continue;
    const auto item = items_[chunk];
    shares_[chunk] =
        static_cast<double>(sizes[chunk].value) / static_cast<double>(problem_.items[item].size.value);
    for (const auto& use : uses_[item]) loads_[use.phase].put(part_of(*use.cell, chunk), places_[chunk]);
    looked_at_ += uses_[item].size();
  }
}

Seconds MoveGains::gain(ChunkId chunk, PlaceId to) {
  if (!knows(chunk) || places_[chunk] == to) return {};
  double gain = 0;
  for (const auto& use : uses_[items_[chunk]]) {
    const auto& load = loads_[use.phase];
    gain += load.time() - load.time_if_moved(part_of(*use.cell, chunk), places_[chunk], to);
  }
  looked_at_ += uses_[items_[chunk]].size();
  return Seconds{gain};
}

void MoveGains::apply(ChunkId chunk, PlaceId to) {
  if (!knows(chunk)) return;
  const auto from = std::exchange(places_[chunk], to);
  for (const auto& use : uses_[items_[chunk]]) {
    const auto part = part_of(*use.cell, chunk);
    loads_[use.phase].take(part, from);
    loads_[use.phase].put(part, to);
  }
  looked_at_ += uses_[items_[chunk]].size();
}

Seconds MoveGains::take_cost() { return static_cast<double>(std::exchange(looked_at_, 0)) * model::k_gain_cost; }

}  // namespace terrace::strategy
