// See numa_copier.hpp.
#include "transfer/numa_copier.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/rounding.hpp"

namespace terrace::transfer {

namespace {

PlaceId place_of(const memory::Chunk& chunk) { return chunk.place.load(std::memory_order_relaxed); }

PlaceSet only(PlaceId place) { return place == k_no_place ? 0 : PlaceSet{1} << place; }

PlaceSet held_on(const Load& load) { return load.further | only(place_of(*load.chunk)); }

}  // namespace

NumaCopier::NumaCopier(const CopierParts& parts)
    : machine_(parts.machine), chunks_(parts.chunks), ledger_(parts.ledger), batch_(std::make_unique<Batch>()) {}

std::size_t NumaCopier::pages_of(const memory::Chunk& chunk) noexcept { return ceil_div(chunk.size, k_page); }

std::size_t NumaCopier::range_of(const memory::Chunk& chunk) noexcept { return pages_of(chunk) * k_page; }

int NumaCopier::node_of(PlaceId place) const noexcept {
  const auto& places = machine_.places();
  return place < places.size() ? places[place].numa_node : -1;
}

// As the kernel does, about.
void NumaCopier::copy(void* to, const void* from, std::size_t size) noexcept { std::memcpy(to, from, size); }

void NumaCopier::carry(std::span<Load> loads, PlaceId to) noexcept {
  for (auto& load : loads) load.underway = set_out(load, to);
  bring(loads, node_of(to));
  for (auto& load : loads) {
    if (!load.underway) continue;
    if (load.behind == 0)
      arrive(load, to);
    else
      retreat(load, to);
    load.underway = false;
  }
  settle();
}

// Room and policy. False when there is nothing to move: it is there already, or was refused.
bool NumaCopier::set_out(Load& load, PlaceId to) noexcept {
  const auto& chunk = *load.chunk;
  if (place_of(chunk) == to && load.further == 0) return false;
  const Bytes size{chunk.size};
  if ((held_on(load) & only(to)) == 0 && !ledger_.take(to, size) && !(make_room(to) && ledger_.take(to, size))) {
    load.refused = true;
    return false;
  }
  const auto held = held_on(load);
  load.further |= only(to) & ~only(place_of(chunk));
  part(chunk);
  load.error = memory::prefer_node(chunk.address, range_of(chunk), node_of(to));
  // Where a stack has not grown to so far nothing is mapped; what it grows by gets the policy of what is above it.
  const bool is_to_come = load.error == EFAULT && place_of(chunk) < place_count() && places_with_pages(chunk) == 0;
  if (load.error == 0 || is_to_come) return true;
  load.refused = true;
  prefer(chunk, place_of(chunk));
  keep_on(load, held);
  return false;
}

void NumaCopier::prefer(const memory::Chunk& chunk, PlaceId place) noexcept {
  if (const auto node = node_of(place); node >= 0)
    memory::prefer_node(chunk.address, range_of(chunk), node);
  else
    memory::reset_policy(chunk.address, range_of(chunk));
}

// The account's side of a move that has ended: the chunk is held on `places` and, always, on its own.
void NumaCopier::keep_on(Load& load, PlaceSet places) noexcept {
  const auto own = only(place_of(*load.chunk));
  for (PlaceId place = 0; place < place_count(); ++place)
    if ((load.further & ~own & ~places & only(place)) != 0) ledger_.give(place, Bytes{load.chunk->size});
  load.further &= places & ~own;
}

void NumaCopier::part(const memory::Chunk& chunk) noexcept {
  memory::split_boundary_huge_pages(chunk.address, range_of(chunk));
}

void NumaCopier::bring(std::span<Load> loads, int node) noexcept {
  batch_->count = 0;
  for (auto& load : loads) {
    if (!load.underway) continue;
    load.behind = 0;
    for (std::size_t page = 0; page < pages_of(*load.chunk); ++page) {
      const auto address = load.chunk->address + page * k_page;
      batch_->pages[batch_->count] = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
      batch_->load[batch_->count] = &load;
      if (++batch_->count == memory::k_page_batch) move_batch(node);
    }
  }
  move_batch(node);
}

void NumaCopier::move_batch(int node) noexcept {
  auto& batch = *batch_;
  const auto n = std::exchange(batch.count, 0);
  if (n == 0) return;
  const int error = memory::move_pages_to(std::span(batch.pages).first(n), node, std::span(batch.where).first(n));
  if (error == 0) return;
  for (std::size_t i = 0; i < n; ++i) {
    if (batch.where[i] == node || memory::is_absent(batch.where[i])) continue;
    ++batch.load[i]->behind;
    batch.load[i]->error = error;
  }
}

void NumaCopier::arrive(Load& load, PlaceId to) noexcept {
  auto& chunk = *load.chunk;
  load.further |= only(place_of(chunk));
  chunks_.put(chunk, to);
  keep_on(load, only(to));
  load.size = Bytes{chunk.size};
  load.error = 0;
}

// Some of it could not go: all of it goes back. Where the way back is closed as well, the chunk stays in parts and
// is held wherever there is one, until a later move brings them together or its object is freed.
void NumaCopier::retreat(Load& load, PlaceId to) noexcept {
  auto& chunk = *load.chunk;
  const auto home = place_of(chunk);
  const int error = load.error;
  load.refused = true;
  prefer(chunk, home);
  load.behind = 1;
  if (home != to && node_of(home) >= 0) NumaCopier::bring(std::span(&load, 1), node_of(home));
  load.error = error;
  keep_on(load, load.behind == 0 ? only(home) : places_with_pages(chunk));
}

PlaceSet NumaCopier::places_with_pages(const memory::Chunk& chunk) noexcept {
  PlaceSet places = 0;
  auto& where = batch_->where;
  for (std::size_t at = 0; at < pages_of(chunk); at += where.size()) {
    const auto nodes = std::span(where).first(std::min(where.size(), pages_of(chunk) - at));
    // Who cannot ask must believe that every place has some.
    if (memory::query_pages(chunk.address + at * k_page, nodes) != 0) return ~PlaceSet{0};
    for (PlaceId place = 0; place < place_count(); ++place)
      if (const auto node = node_of(place);
          node >= 0 && std::find(nodes.begin(), nodes.end(), node) != nodes.end())
        places |= only(place);
  }
  return places;
}

}  // namespace terrace::transfer
