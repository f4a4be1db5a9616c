// SPDX-License-Identifier: Apache-2.0
// Creates the chunks (units of migration) of new objects for a Configuration: reserves capacity and binds memory
// to places in contiguous ranges. See chunk_binding.hpp.
#include "runtime/chunk_binding.hpp"

#include <algorithm>
#include <vector>

namespace terrace::runtime {

// Reserves capacity for as many chunks as possible, from `first` on. Returns the first chunk without capacity.
ChunkId ChunkBinding::reserve_capacity(ChunkId first, ChunkId end, PlaceId place) {
  const auto& chunks = *parts_.chunks;
  const auto available = parts_.ledger->available(place).value;
  std::uint64_t wanted = 0;
  auto stop = first;
  for (; stop < end && wanted + chunks[stop].size <= available; ++stop) wanted += chunks[stop].size;
  if (stop == first || parts_.ledger->take(place, Bytes{wanted})) return stop;
  // Another process of the job took the capacity meanwhile: reserve chunk by chunk.
  stop = first;
  while (stop < end && parts_.ledger->take(place, Bytes{chunks[stop].size})) ++stop;
  return stop;
}

// Binds chunks to the place, or to the home place as far as the place has no capacity.
void ChunkBinding::bind(ChunkId first, std::uint32_t count, PlaceId place, bool is_at_home) {
  auto& chunks = *parts_.chunks;
  const auto home = parts_.machine->home(domain_);
  // Neighbours are bound by one system call. Chunks that the ledger has no capacity for go to the home place.
  ChunkId begin = first;
  const auto end = first + count;
  while (begin < end) {
    auto target = place;
    auto reserved = reserve_capacity(begin, end, place);
    auto stop = reserved;
    if (reserved == begin) {  // nor is there capacity for following chunks of at least that size
      for (stop = begin + 1; stop < end && chunks[stop].size >= chunks[begin].size;) ++stop;
      target = home;
      if (place != home) reserved = reserve_capacity(begin, stop, home);
    }
    if (is_at_home && target != home) parts_.provider->discard(begin, stop - begin);
    const bool bound = (is_at_home && target == home && parts_.machine->place(home).numa_node >= 0) ||
                       parts_.provider->bind(begin, stop - begin, target);
    for (auto chunk = begin; chunk < stop; ++chunk) {
      if (bound)
        chunks.put(chunks[chunk], target);
      else if (chunk < reserved)
        parts_.ledger->give(target, Bytes{chunks[chunk].size});
    }
    // A machine with one place has all data there without binding.
    if (!bound && parts_.machine->places().size() > 1)
      migrations_.note_refusal("allows no memory on " + parts_.machine->place(target).name);
    begin = stop;
  }
}

// Creates an object's chunks where the strategy places them initially, and writes the object to the journal.
void ChunkBinding::add(const observe::Object& object, std::uint64_t address, bool is_at_home,
                       strategy::Strategy& strategy) {
  strategy.on_event(strategy::ObjectAdded{object}, migrations_);
  for (std::uint32_t i = 0; i < object.chunks; ++i) {
    const auto offset = i * object.chunk_size.value;
    const auto size = std::min(object.chunk_size.value, object.size.value - offset);
    parts_.chunks->add(address + offset, static_cast<std::uint32_t>(size), object.id, domain_, k_no_place);
  }
  for (std::uint32_t placed = 0; placed < object.chunks;) {
    const auto extent = strategy.initial_placement(object, placed, object.chunks - placed);
    bind(object.first_chunk + placed, extent.chunks, extent.place, is_at_home);
    placed += extent.chunks;
  }
  const auto end = object.first_chunk + object.chunks;
  profile::ObjectRecord record{object, parts_.clock->now(), {}, address};
  for (auto chunk = object.first_chunk; chunk < end; ++chunk)
    record.places.push_back((*parts_.chunks)[chunk].place.load(std::memory_order_relaxed));
  journal_.write(record);
}

bool ChunkBinding::is_at_home(const observe::Object& object) {
  const auto home = parts_.machine->home(domain_);
  for (std::uint32_t i = 0; i < object.chunks; ++i) {
    const auto place = (*parts_.chunks)[object.first_chunk + i].place.load(std::memory_order_relaxed);
    if (place != home && place != k_no_place) return false;
  }
  return std::ranges::none_of(migrations_.pending_moves(),
                              [&](const auto& move) { return move.first - object.first_chunk < object.chunks; });
}

// Releases the capacity of a freed object, and cancels its moves.
void ChunkBinding::remove(const observe::Object& object) {
  migrations_.forget(object.first_chunk, object.chunks);
  std::vector<std::uint64_t> freed(parts_.machine->places().size(), 0);
  for (std::uint32_t i = 0; i < object.chunks; ++i) {
    auto& chunk = (*parts_.chunks)[object.first_chunk + i];
    if (const auto place = chunk.place.load(std::memory_order_relaxed); place != k_no_place)
      freed[place] += chunk.size;
    chunk.live = false;
  }
  for (std::size_t place = 0; place < freed.size(); ++place)
    if (freed[place] > 0) parts_.ledger->give(static_cast<PlaceId>(place), Bytes{freed[place]});
  journal_.write(profile::ObjectEndRecord{object.id, parts_.clock->now()});
}

}  // namespace terrace::runtime
