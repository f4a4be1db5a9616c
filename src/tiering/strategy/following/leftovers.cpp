// See leftovers.hpp.
#include "strategy/following/leftovers.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "strategy/plan_expansion.hpp"

namespace terrace::strategy {

namespace {

// The most that the plan ever has in each place: as it was made, so that objects count which come and go.
machine::Budget max_held(const Plan& plan, const Context& context) {
  std::unordered_map<std::string_view, Bytes> chunk_sizes;
  for (const auto& object : *context.objects) chunk_sizes.emplace(object.name, object.chunk_size);
  std::vector<RunningObject> objects;
  std::vector<Bytes> parts;  // of each, all but the last chunk
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

Leftovers::Leftovers(const Plan& plan, const Context& context, std::vector<bool> reached)
    : context_(&context), reached_(std::move(reached)), room_(context.budget_of_its_own()) {
  const auto most = max_held(plan, context);
  room_.resize(most.size());
  for (std::size_t place = 0; place < most.size(); ++place)
    room_[place] = room_[place] > most[place] ? room_[place] - most[place] : Bytes{};
}

bool Leftovers::stays(ChunkId chunk, PlaceId where) {
  if (chunk < reached_.size() && reached_[chunk]) return false;
  const Bytes size{(*context_->chunks)[chunk].size};
  if (where >= room_.size() || room_[where] < size) return false;
  keep({chunk, 1, where}, size);
  return true;
}

std::optional<Stretch> Leftovers::place(const observe::Object& object, std::uint32_t ordinal, std::uint32_t left) {
  for (const auto place : context_->places()) {
    if (place == context_->home()) break;
    const auto free = std::min(room(place, object.chunk_size), context_->ledger->available(place));
    const auto fitting = free.value / object.chunk_size.value;
    if (fitting == 0) continue;
    const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(fitting, left));
    keep({object.first_chunk + ordinal, count, place}, Bytes{count * object.chunk_size.value});
    return Stretch{place, count};
  }
  return std::nullopt;
}

void Leftovers::keep(const Kept& kept, Bytes size) {
  room_[kept.place] -= size;
  kept_.push_back(kept);
}

// Each refusal pays for looking at so many of them.
Bytes Leftovers::room(PlaceId place, Bytes wanted) {
  constexpr std::size_t k_look = 4096;
  if (room_[place] < wanted && ++refused_ * k_look >= kept_.size()) give_back_freed();
  return room_[place];
}

void Leftovers::give_back_freed() {
  const auto& chunks = *context_->chunks;
  std::erase_if(kept_, [&](const Kept& kept) {
    if (chunks[kept.first].live) return false;
    for (auto chunk = kept.first; chunk < kept.first + kept.count; ++chunk)
      room_[kept.place] += Bytes{chunks[chunk].size};
    return true;
  });
  refused_ = 0;
}

}  // namespace terrace::strategy
