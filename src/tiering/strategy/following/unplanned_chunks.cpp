// SPDX-License-Identifier: Apache-2.0
// Reserves fast capacity that a plan never uses for chunks that the plan does not cover, for PlanExecutor. See
// unplanned_chunks.hpp.
#include "strategy/following/unplanned_chunks.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "strategy/plan_expansion.hpp"

namespace terrace::strategy {

namespace {

// Returns the max bytes that the plan has in each place at any time, with the objects of the profiled run, so that
// temporary objects count.
machine::Budget max_occupancy(const Plan& plan, const Context& context) {
  std::unordered_map<std::string_view, Bytes> chunk_sizes;
  for (const auto& object : *context.objects) chunk_sizes.emplace(object.name, object.chunk_size);
  std::vector<RunningObject> objects;
  std::vector<Bytes> parts;  // chunk size of each object
  for (const auto& object : plan.objects) {
    const auto chunks = std::max(object.chunks, 1U);
    objects.push_back({object.name, object.size, chunks, context.domain});
    const auto known = chunk_sizes.find(object.name);
    parts.push_back(known != chunk_sizes.end() ? known->second : Bytes{(object.size.value + chunks - 1) / chunks});
  }
  auto expanded = expand_plan(plan, *context.machine, objects);
  const auto part = [&](std::uint32_t object, std::uint32_t chunk) {
    const auto before = Bytes{chunk * parts[object].value};
    return before < objects[object].size ? std::min(parts[object], objects[object].size - before) : Bytes{};
  };
  machine::Budget held(context.machine->places().size());
  for (std::uint32_t i = 0; i < objects.size(); ++i)
    for (std::uint32_t chunk = 0; chunk < objects[i].chunks; ++chunk)
      held[expanded.objects[i].initial[chunk]] += part(i, chunk);
  auto most = held;
  for (const auto& move : expanded.moves) {
    auto& place = expanded.objects[move.object].initial[move.chunk];
    const auto size = part(move.object, move.chunk);
    held[place] -= size;
    place = move.to;
    held[place] += size;
    most[place] = std::max(most[place], held[place]);
  }
  return most;
}

}  // namespace

UnplannedChunks::UnplannedChunks(const Plan& plan, const Context& context, std::vector<bool> reached)
    : context_(&context), reached_(std::move(reached)), capacity_(context.own_budget()) {
  const auto most = max_occupancy(plan, context);
  capacity_.resize(most.size());
  for (std::size_t place = 0; place < most.size(); ++place)
    capacity_[place] = capacity_[place] > most[place] ? capacity_[place] - most[place] : Bytes{};
}

bool UnplannedChunks::retain(ChunkId chunk, PlaceId where) {
  if (chunk < reached_.size() && reached_[chunk]) return false;
  const Bytes size{(*context_->chunks)[chunk].size};
  if (where >= capacity_.size() || capacity_[where] < size) return false;
  reserve({chunk, 1, where}, size);
  return true;
}

std::optional<PlacementExtent> UnplannedChunks::allocate(const observe::Object& object, std::uint32_t ordinal,
                                                         std::uint32_t left) {
  for (const auto place : context_->places()) {
    if (place == context_->home()) break;
    const auto free = std::min(free_capacity(place, object.chunk_size), context_->ledger->available(place));
    const auto fitting = free.value / object.chunk_size.value;
    if (fitting == 0) continue;
    const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(fitting, left));
    reserve({object.first_chunk + ordinal, count, place}, Bytes{count * object.chunk_size.value});
    return PlacementExtent{place, count};
  }
  return std::nullopt;
}

void UnplannedChunks::reserve(const RetainedRange& retained, Bytes size) {
  capacity_[retained.place] -= size;
  retained_.push_back(retained);
}

// Amortised: one scan of retained_ per (size / k_look) refusals.
Bytes UnplannedChunks::free_capacity(PlaceId place, Bytes wanted) {
  constexpr std::size_t k_look = 4096;
  if (capacity_[place] < wanted && ++num_refused_ * k_look >= retained_.size()) reclaim_freed();
  return capacity_[place];
}

void UnplannedChunks::reclaim_freed() {
  const auto& chunks = *context_->chunks;
  std::erase_if(retained_, [&](const RetainedRange& retained) {
    if (chunks[retained.first].live) return false;
    for (auto chunk = retained.first; chunk < retained.first + retained.count; ++chunk)
      capacity_[retained.place] += Bytes{chunks[chunk].size};
    return true;
  });
  num_refused_ = 0;
}

}  // namespace terrace::strategy
