// SPDX-License-Identifier: Apache-2.0
// Implements prepare, move, commit and rollback of chunk migrations between NUMA nodes, for both copiers in
// copiers/. MoveQueue's thread calls it. See numa_copier.hpp.
#include "transfer/numa_copier.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/rounding.hpp"

namespace terrace::transfer {

namespace {

PlaceId place_of(const memory::Chunk& chunk) { return chunk.place.load(std::memory_order_relaxed); }

PlaceSet bit_of(PlaceId place) { return place == k_no_place ? 0 : PlaceSet{1} << place; }

PlaceSet charged_places(const ChunkMigration& migration) {
  return migration.other_places | bit_of(place_of(*migration.chunk));
}

}  // namespace

NumaCopier::NumaCopier(const CopierParts& parts)
    : machine_(parts.machine), chunks_(parts.chunks), ledger_(parts.ledger), batch_(std::make_unique<Batch>()) {}

std::size_t NumaCopier::pages_of(const memory::Chunk& chunk) noexcept { return ceil_div(chunk.size, k_page); }

std::size_t NumaCopier::range_of(const memory::Chunk& chunk) noexcept { return pages_of(chunk) * k_page; }

int NumaCopier::node_of(PlaceId place) const noexcept {
  const auto& places = machine_.places();
  return place < places.size() ? places[place].numa_node : -1;
}

// Approximates the kernel's copy.
void NumaCopier::copy(void* to, const void* from, std::size_t size) noexcept { std::memcpy(to, from, size); }

void NumaCopier::migrate(std::span<ChunkMigration> migrations, PlaceId to) noexcept {
  for (auto& migration : migrations) migration.in_flight = prepare(migration, to);
  move_pages(migrations, node_of(to));
  for (auto& migration : migrations) {
    if (!migration.in_flight) continue;
    if (migration.pages_left == 0)
      commit(migration, to);
    else
      rollback(migration, to);
    migration.in_flight = false;
  }
  on_round_charged();
}

// Charges the target and sets the memory policy. Returns false if there is nothing to move: the chunk is there
// already, or was refused.
bool NumaCopier::prepare(ChunkMigration& migration, PlaceId to) noexcept {
  const auto& chunk = *migration.chunk;
  if (place_of(chunk) == to && migration.other_places == 0) return false;
  const Bytes size{chunk.size};
  if ((charged_places(migration) & bit_of(to)) == 0 && !ledger_.take(to, size) &&
      !(reclaim_space(to) && ledger_.take(to, size))) {
    migration.refused = true;
    return false;
  }
  const auto held = charged_places(migration);
  migration.other_places |= bit_of(to) & ~bit_of(place_of(chunk));
  split_huge_page(chunk);
  migration.error = memory::prefer_node(chunk.address, range_of(chunk), node_of(to));
  // A stack that has not grown yet is unmapped; as it grows it inherits the policy of the mapping above.
  const bool is_unmapped_stack =
      migration.error == EFAULT && place_of(chunk) < place_count() && places_with_pages(chunk) == 0;
  if (migration.error == 0 || is_unmapped_stack) return true;
  migration.refused = true;
  set_policy(chunk, place_of(chunk));
  retain_charges(migration, held);
  return false;
}

void NumaCopier::set_policy(const memory::Chunk& chunk, PlaceId place) noexcept {
  if (const auto node = node_of(place); node >= 0)
    memory::prefer_node(chunk.address, range_of(chunk), node);
  else
    memory::reset_policy(chunk.address, range_of(chunk));
}

// Uncharges a chunk on all places but `places` and its own.
void NumaCopier::retain_charges(ChunkMigration& migration, PlaceSet places) noexcept {
  const auto own = bit_of(place_of(*migration.chunk));
  for (PlaceId place = 0; place < place_count(); ++place)
    if ((migration.other_places & ~own & ~places & bit_of(place)) != 0)
      ledger_.give(place, Bytes{migration.chunk->size});
  migration.other_places &= places & ~own;
}

void NumaCopier::split_huge_page(const memory::Chunk& chunk) noexcept {
  memory::split_boundary_huge_pages(chunk.address, range_of(chunk));
}

void NumaCopier::move_pages(std::span<ChunkMigration> migrations, int node) noexcept {
  batch_->count = 0;
  for (auto& migration : migrations) {
    if (!migration.in_flight) continue;
    migration.pages_left = 0;
    for (std::size_t page = 0; page < pages_of(*migration.chunk); ++page) {
      const auto address = migration.chunk->address + page * k_page;
      batch_->pages[batch_->count] = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
      batch_->migration[batch_->count] = &migration;
      if (++batch_->count == memory::k_page_batch) move_batch(node);
    }
  }
  move_batch(node);
}

// Moves the pages collected in the batch by one move_pages(2) call.
void NumaCopier::move_batch(int node) noexcept {
  auto& batch = *batch_;
  const auto n = std::exchange(batch.count, 0);
  if (n == 0) return;
  const int error = memory::move_pages_to(std::span(batch.pages).first(n), node, std::span(batch.where).first(n));
  if (error == 0) return;
  for (std::size_t i = 0; i < n; ++i) {
    if (batch.where[i] == node || memory::is_absent(batch.where[i])) continue;
    ++batch.migration[i]->pages_left;
    batch.migration[i]->error = error;
  }
}

// Records the new place of a chunk whose pages have all arrived, and uncharges the others.
void NumaCopier::commit(ChunkMigration& migration, PlaceId to) noexcept {
  auto& chunk = *migration.chunk;
  migration.other_places |= bit_of(place_of(chunk));
  chunks_.put(chunk, to);
  retain_charges(migration, bit_of(to));
  migration.size = Bytes{chunk.size};
  migration.error = 0;
}

// Moves all pages back after a partial failure. If that fails, too, the chunk stays split over several places and
// is charged on each, until a later migration unites it or its object is freed.
void NumaCopier::rollback(ChunkMigration& migration, PlaceId to) noexcept {
  auto& chunk = *migration.chunk;
  const auto source = place_of(chunk);
  const int error = migration.error;
  migration.refused = true;
  set_policy(chunk, source);
  migration.pages_left = 1;
  if (source != to && node_of(source) >= 0) NumaCopier::move_pages(std::span(&migration, 1), node_of(source));
  migration.error = error;
  retain_charges(migration, migration.pages_left == 0 ? bit_of(source) : places_with_pages(chunk));
}

// Returns the places on which the kernel reports pages of the chunk.
PlaceSet NumaCopier::places_with_pages(const memory::Chunk& chunk) noexcept {
  PlaceSet places = 0;
  auto& where = batch_->where;
  for (std::size_t at = 0; at < pages_of(chunk); at += where.size()) {
    const auto nodes = std::span(where).first(std::min(where.size(), pages_of(chunk) - at));
    // If the query fails, assume pages on every place.
    if (memory::query_pages(chunk.address + at * k_page, nodes) != 0) return ~PlaceSet{0};
    for (PlaceId place = 0; place < place_count(); ++place)
      if (const auto node = node_of(place);
          node >= 0 && std::find(nodes.begin(), nodes.end(), node) != nodes.end())
        places |= bit_of(place);
  }
  return places;
}

}  // namespace terrace::transfer
