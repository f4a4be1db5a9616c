// Between NUMA nodes by move_pages(2): policy, pages and account of each chunk.
#include <algorithm>
#include <array>
#include <utility>

#include "core/rounding.hpp"
#include "memory/numa_node.hpp"
#include "transfer/copier.hpp"

namespace terrace::transfer {

namespace {

std::size_t pages_of(const memory::Chunk& chunk) { return divided_up(chunk.size, k_page); }

std::size_t range_of(const memory::Chunk& chunk) { return pages_of(chunk) * k_page; }

PlaceId place_of(const memory::Chunk& chunk) { return chunk.place.load(std::memory_order_relaxed); }

PlaceSet only(PlaceId place) { return place == k_no_place ? 0 : PlaceSet{1} << place; }

PlaceSet held_on(const Load& load) { return load.further | only(place_of(*load.chunk)); }

class NumaMovePages final : public Copier {
 public:
  NumaMovePages(const machine::Machine& machine, memory::ChunkTable& chunks, memory::Ledger& ledger);

  void carry(std::span<Load> loads, PlaceId to) noexcept override;

 private:
  // The pages of one call, and the load that each belongs to.
  struct Batch {
    std::array<void*, memory::k_page_batch> pages;
    std::array<int, memory::k_page_batch> where;
    std::array<Load*, memory::k_page_batch> load;
    std::size_t count = 0;
  };
  bool set_out(Load& load, PlaceId to) noexcept;
  void move(std::span<Load> loads, int node) noexcept;
  void move_batch(int node) noexcept;
  void arrive(Load& load, PlaceId to) noexcept;
  void retreat(Load& load, PlaceId to) noexcept;
  void prefer(const memory::Chunk& chunk, PlaceId place) noexcept;
  void keep_on(Load& load, PlaceSet places) noexcept;
  [[nodiscard]] PlaceSet places_with_pages(const memory::Chunk& chunk) noexcept;
  [[nodiscard]] PlaceId place_count() const noexcept { return static_cast<PlaceId>(machine_.places().size()); }
  [[nodiscard]] int node_of(PlaceId place) const noexcept;  // -1 where it has none

  const machine::Machine& machine_;
  memory::ChunkTable& chunks_;
  memory::Ledger& ledger_;
  std::unique_ptr<Batch> batch_;
};

NumaMovePages::NumaMovePages(const machine::Machine& machine, memory::ChunkTable& chunks, memory::Ledger& ledger)
    : machine_(machine), chunks_(chunks), ledger_(ledger), batch_(std::make_unique<Batch>()) {}

int NumaMovePages::node_of(PlaceId place) const noexcept {
  const auto& places = machine_.places();
  return place < places.size() ? places[place].numa_node : -1;
}

void NumaMovePages::carry(std::span<Load> loads, PlaceId to) noexcept {
  for (auto& load : loads) load.underway = set_out(load, to);
  move(loads, node_of(to));
  for (auto& load : loads) {
    if (!load.underway) continue;
    if (load.behind == 0)
      arrive(load, to);
    else
      retreat(load, to);
    load.underway = false;
  }
}

// Room and policy. False when there is nothing to move: it is there already, or was refused.
bool NumaMovePages::set_out(Load& load, PlaceId to) noexcept {
  const auto& chunk = *load.chunk;
  if (place_of(chunk) == to && load.further == 0) return false;
  if ((held_on(load) & only(to)) == 0 && !ledger_.take(to, Bytes{chunk.size})) {
    load.refused = true;
    return false;
  }
  const auto held = held_on(load);
  load.further |= only(to) & ~only(place_of(chunk));
  memory::part_from_neighbours(chunk.address, range_of(chunk));
  load.error = memory::prefer_node(chunk.address, range_of(chunk), node_of(to));
  if (load.error == 0) return true;
  load.refused = true;
  prefer(chunk, place_of(chunk));
  keep_on(load, held);
  return false;
}

void NumaMovePages::prefer(const memory::Chunk& chunk, PlaceId place) noexcept {
  if (const auto node = node_of(place); node >= 0)
    memory::prefer_node(chunk.address, range_of(chunk), node);
  else
    memory::forget_preference(chunk.address, range_of(chunk));
}

// The account's side of a move that has ended: the chunk is held on `places` and, always, on its own.
void NumaMovePages::keep_on(Load& load, PlaceSet places) noexcept {
  const auto own = only(place_of(*load.chunk));
  for (PlaceId place = 0; place < place_count(); ++place)
    if ((load.further & ~own & ~places & only(place)) != 0) ledger_.give(place, Bytes{load.chunk->size});
  load.further &= places & ~own;
}

// Moves what the loads have in memory to `node`, many chunks a call; leaves in each load how much of it stayed
// behind.
void NumaMovePages::move(std::span<Load> loads, int node) noexcept {
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

void NumaMovePages::move_batch(int node) noexcept {
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

void NumaMovePages::arrive(Load& load, PlaceId to) noexcept {
  auto& chunk = *load.chunk;
  load.further |= only(place_of(chunk));
  chunks_.put(chunk, to);
  keep_on(load, only(to));
  load.size = Bytes{chunk.size};
  load.error = 0;
}

// Some of it could not go: all of it goes back. Where the way back is closed as well, the chunk stays in parts and
// is held wherever there is one, until a later move brings them together or its object is freed.
void NumaMovePages::retreat(Load& load, PlaceId to) noexcept {
  auto& chunk = *load.chunk;
  const auto home = place_of(chunk);
  const int error = load.error;
  load.refused = true;
  prefer(chunk, home);
  load.behind = 1;
  if (home != to && node_of(home) >= 0) move(std::span(&load, 1), node_of(home));
  load.error = error;
  keep_on(load, load.behind == 0 ? only(home) : places_with_pages(chunk));
}

PlaceSet NumaMovePages::places_with_pages(const memory::Chunk& chunk) noexcept {
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

class Variant final : public CopierVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "numa_move_pages"; }
  [[nodiscard]] bool serves(const machine::Place& from, const machine::Place& to) const override {
    return from.numa_node >= 0 && to.numa_node >= 0;
  }
  [[nodiscard]] std::unique_ptr<Copier> make(const machine::Machine& machine, memory::ChunkTable& chunks,
                                             memory::Ledger& ledger) const override {
    return std::make_unique<NumaMovePages>(machine, chunks, ledger);
  }
};

}  // namespace

const CopierVariant& numa_move_pages_copier() {
  static const Variant variant;
  return variant;
}

}  // namespace terrace::transfer
