// SPDX-License-Identifier: Apache-2.0
// Requests the moves that bring all chunks back to earlier places, for LearningStrategy. See restored_places.hpp.
#include "strategy/learning/restored_places.hpp"

#include <algorithm>

#include "strategy/following/pending_placement.hpp"

namespace terrace::strategy {

std::vector<PlaceId> current_places(const Context& context) {
  std::vector<PlaceId> places;
  places.reserve(context.chunks->size());
  for (const auto& chunk : *context.chunks) places.push_back(chunk.place.load(std::memory_order_relaxed));
  return places;
}

std::vector<transfer::TransferRequest> moves_to_places(const Context& context, std::span<const PlaceId> places,
                                                       Requests& requests) {
  const auto& order = context.places();
  const auto rank = [&](PlaceId place) { return std::ranges::find(order, place) - order.begin(); };
  const auto pending = requests.pending_moves();
  const PendingPlacement placement(*context.chunks, pending);
  std::vector<transfer::TransferRequest> out, in;
  for (ChunkId id = 0; id < places.size(); ++id) {
    const auto from = placement.place_of(id);
    if (!(*context.chunks)[id].live || from == k_no_place || places[id] == k_no_place || from == places[id])
      continue;
    (rank(places[id]) > rank(from) ? out : in).push_back({id, places[id]});
  }
  PendingCapacity room(context, pending);
  std::vector<transfer::TransferRequest> moves;
  for (const auto* some : {&out, &in})
    for (const auto& move : *some)
      if (room.move(move.chunk, move.to)) moves.push_back(move);
  return moves;
}

void request_places(const Context& context, std::span<const PlaceId> places, std::uint32_t iteration,
                    Requests& requests) {
  requests.clear_needs();
  requests.limit_rate(1);
  requests.expedite_pending();
  const auto moves = moves_to_places(context, places, requests);
  if (!moves.empty()) requests.request_moves(moves, 0, iteration);
}

}  // namespace terrace::strategy
