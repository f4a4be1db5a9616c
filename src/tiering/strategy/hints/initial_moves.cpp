// SPDX-License-Identifier: Apache-2.0
// Plans the demotions and promotions that bring chunks with reference counts to their initial placement, for
// CountedPlacement. See initial_moves.hpp.
#include "strategy/hints/initial_moves.hpp"

#include <algorithm>
#include <utility>

namespace terrace::strategy {

InitialMovePlanner::InitialMovePlanner(const Context& context)
    : context_(context),
      places_(context.places()),
      home_(context.home()),
      free_(context.machine->places().size()) {
  for (const auto place : places_) free_[place] = context_.ledger->available(place).value;
}

void InitialMovePlanner::add(const observe::Object& object, double references) {
  for (std::uint32_t i = 0; i < object.chunks; ++i) {
    const auto chunk = object.first_chunk + i;
    const Bytes size{chunk_entry(chunk).size};
    if (resides(chunk) == k_no_place) continue;
    counted_.push_back(
        {size, references * static_cast<double>(size.value) / static_cast<double>(object.size.value)});
    counted_chunks_.push_back({&object, i});
  }
}

void InitialMovePlanner::add_uncounted(const observe::Object& object) {
  for (std::uint32_t i = 0; i < object.chunks; ++i)
    if (const auto place = resides(object.first_chunk + i); place != k_no_place && place != home_)
      uncounted_.push_back({&object, i});
}

std::vector<ActiveMove> InitialMovePlanner::moves() {
  decide();
  make_room();
  for (std::size_t i = 0; i < counted_chunks_.size(); ++i)
    if (resides(chunk_of(counted_chunks_[i])) != home_ && resides(chunk_of(counted_chunks_[i])) != target_[i])
      move(counted_chunks_[i], home_);
  for (const auto place : places_)
    for (std::size_t i = 0; i < counted_chunks_.size(); ++i)
      if (target_[i] == place && place != home_ && resides(chunk_of(counted_chunks_[i])) != place)
        move(counted_chunks_[i], place);
  return std::move(moves_);
}

// Returns the chunk's place after the moves planned so far.
PlaceId InitialMovePlanner::resides(ChunkId chunk) const {
  const auto moved = moved_.find(chunk);
  return moved != moved_.end() ? moved->second : chunk_entry(chunk).place.load(std::memory_order_relaxed);
}

// Chooses the target of each counted chunk, in the space that is free or that counted and uncounted chunks take
// now.
void InitialMovePlanner::decide() {
  std::vector<PlaceOption> options;
  for (const auto place : places_) {
    auto room = free_[place];
    for (const auto* parts : {&counted_chunks_, &uncounted_})
      for (const auto& part : *parts)
        if (resides(chunk_of(part)) == place) room += chunk_entry(chunk_of(part)).size;
    options.push_back({Bytes{room}, context_.machine->line_time(context_.domain, place).value});
  }
  const auto home = std::find(places_.begin(), places_.end(), home_) - places_.begin();
  for (const auto option : max_references(counted_, options, static_cast<std::uint32_t>(home)))
    target_.push_back(places_[option]);
}

// Demotes uncounted chunks whose space is needed, the most recently allocated first.
void InitialMovePlanner::make_room() {
  auto wanted = std::vector<std::uint64_t>(free_.size(), 0);
  auto leaving = wanted;
  for (std::size_t i = 0; i < counted_chunks_.size(); ++i) {
    const auto place = resides(chunk_of(counted_chunks_[i]));
    if (place == target_[i]) continue;
    wanted[target_[i]] += chunk_entry(chunk_of(counted_chunks_[i])).size;
    leaving[place] += chunk_entry(chunk_of(counted_chunks_[i])).size;
  }
  for (auto part = uncounted_.rbegin(); part != uncounted_.rend(); ++part) {
    const auto place = resides(chunk_of(*part));
    if (free_[place] + leaving[place] < wanted[place]) move(*part, home_);
  }
}

// Adds the move if its target has free space after the moves planned so far.
void InitialMovePlanner::move(const ObjectChunk& part, PlaceId to) {
  const auto chunk = chunk_of(part);
  const auto size = chunk_entry(chunk).size;
  if (free_[to] < size) return;
  free_[to] -= size;
  free_[resides(chunk)] += size;
  moved_[chunk] = to;
  ChunkMove planned;
  planned.object = part.object->id;
  planned.chunk = part.ordinal;
  planned.to = to;
  planned.awaited = false;
  moves_.push_back({planned, chunk, part.object->id});
}

}  // namespace terrace::strategy
