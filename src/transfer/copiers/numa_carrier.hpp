// Carries chunks between NUMA nodes: policy, pages and account of each, and the way back when the kernel refuses.
// Who asked, and when, is the mover's business.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "core/units.hpp"
#include "machine/machine.hpp"
#include "memory/chunk_table.hpp"
#include "memory/ledger.hpp"
#include "memory/numa_node.hpp"

namespace terrace::transfer {

// A set of places, one bit each: a ledger has no more of them (k_ledger_places).
using PlaceSet = std::uint64_t;
static_assert(memory::k_ledger_places <= 64);

// One chunk on its way, and what became of it.
struct Load {
  memory::Chunk* chunk = nullptr;
  // Places beside its own that have pages of the chunk, because the kernel refused the way on and the way back.
  // The ledger holds the chunk on each of them as well.
  PlaceSet further = 0;
  Bytes size;  // that changed places
  bool refused = false;
  int error = 0;           // errno, where it was the system that refused
  bool underway = false;   // its pages are being moved
  std::size_t behind = 0;  // of them on another node than the one wanted
};

class NumaCarrier {
 public:
  // All outlive it. Takes here all the memory that it will ever need.
  NumaCarrier(const machine::Machine& machine, memory::ChunkTable& chunks, memory::Ledger& ledger);

  // Brings the chunks, each of them there once, to `to`: takes room, sets the policy of their ranges so that what
  // is touched meanwhile comes from there, moves what is there, gives back the room that they leave, and stores
  // their new place. A chunk of which a page cannot go is brought back and keeps its place: it was refused.
  void carry(std::span<Load> loads, PlaceId to) noexcept;

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

}  // namespace terrace::transfer
