// SPDX-License-Identifier: Apache-2.0
// Selects the moves of a plan's next step: the groups that pay and that the run may risk by then, for
// LearningStrategy. See stepwise_migration.hpp.
#include "strategy/learning/stepwise_migration.hpp"

namespace terrace::strategy {

std::vector<MoveGroup> StepwiseMigration::order_moves(std::span<const ActiveMove> moves,
                                                      const PendingMoves& pending) {
  if (gains_ == nullptr || moves.empty()) return {};
  const PendingPlacement placement(*context_.chunks, pending);
  std::vector<PlaceId> places;
  std::vector<Bytes> sizes;
  for (ChunkId chunk = 0; chunk < context_.chunks->size(); ++chunk) {
    const auto& entry = (*context_.chunks)[chunk];
    places.push_back(entry.live ? placement.place_of(chunk) : k_no_place);
    sizes.push_back(Bytes{entry.size});
  }
  gains_->begin(std::move(places), sizes);
  MovePrices prices;
  prices.cost = [&](const ActiveMove& move) { return payback_.cost_of(move); };
  prices.gain = [&](const ActiveMove& move) { return gains_->gain(move.chunk, move.planned.to); };
  prices.apply = [&](const ActiveMove& move, PlaceId to) { gains_->apply(move.chunk, to); };
  return best_first(context_, moves, pending, prices);
}

MoveGroup StepwiseMigration::take_step(const PendingMoves& pending, Seconds gained) {
  MoveGroup step;
  if (is_done() || !payback_.pays(groups_[next_].price)) return step;
  const PendingPlacement placement(*context_.chunks, pending);
  PendingCapacity room(context_, pending);
  for (; next_ < groups_.size(); ++next_) {
    const auto& group = groups_[next_];
    const MovePrice with{step.price.cost + group.price.cost, step.price.gain + group.price.gain};
    if (!payback_.pays(group.price) || !payback_.may_risk(with, gained)) break;
    step.price = with;
    for (const auto& move : group.moves) {
      const auto& chunk = (*context_.chunks)[move.chunk];
      const bool is_there = placement.place_of(move.chunk) == move.planned.to;
      if (chunk.live && chunk.object == move.object && !is_there && room.move(move.chunk, move.planned.to))
        step.moves.push_back(move);
    }
  }
  return step;
}

}  // namespace terrace::strategy
