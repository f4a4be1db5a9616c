// What moves chunks from one place to another: room, pages and account of each, and the way back when the system
// refuses. Which copier moves a chunk is a matter of the two places: several of them serve one run. Each is one
// file in copiers/; the build makes the table of them (cmake/Variants.cmake). Who asked, and when, is the queue's
// business (move_queue.hpp). What a move costs the machine file says ([[copier]]), for those who plan and those
// who simulate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/units.hpp"
#include "machine/machine.hpp"
#include "memory/chunk_table.hpp"
#include "memory/ledger.hpp"

namespace terrace::transfer {

// A set of places, one bit each: a ledger has no more of them (k_ledger_places).
using PlaceSet = std::uint64_t;
static_assert(memory::k_ledger_places <= 64);

// One chunk on its way, and what became of it.
struct ChunkMigration {
  memory::Chunk* chunk = nullptr;
  // Places beside its own that have pages of the chunk, because the kernel refused the way on and the way back.
  // The ledger holds the chunk on each of them as well.
  PlaceSet other_places = 0;
  Bytes size;  // that changed places
  bool refused = false;
  int error = 0;  // errno, where it was the system that refused
  void refuse(int why) {
    refused = true;
    error = why;
  }
  bool in_flight = false;   // its pages are being moved
  std::size_t pages_left = 0;  // of them on another node than the one wanted
};

class Copier {
 public:
  virtual ~Copier() = default;
  // Brings the chunks, each of them there once, to `to`: takes room, sets the policy of their ranges so that what
  // is touched meanwhile comes from there, moves what is there, gives back the room that they leave, and stores
  // their new place. A chunk of which a page cannot go is brought back and keeps its place: it was refused.
  virtual void migrate(std::span<ChunkMigration> migrations, PlaceId to) noexcept = 0;

  // How it works, for who measures what it costs: the most that one call moves, its threads, and how these copy
  // whole pages, that are there, from one place to another.
  [[nodiscard]] virtual Bytes piece() const noexcept = 0;
  [[nodiscard]] virtual std::uint32_t threads() const noexcept { return 1; }
  virtual void copy(void* to, const void* from, std::size_t size) noexcept = 0;
};

// What a copier works on; all outlive it.
struct CopierParts {
  const machine::Machine& machine;
  memory::ChunkTable& chunks;
  memory::Ledger& ledger;
  void (*enter)() = nullptr;  // called first on each thread that a copier begins
};

class CopierVariant {
 public:
  virtual ~CopierVariant() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual bool supports(const machine::Place& from, const machine::Place& to) const = 0;
  // What moving 2 MiB takes beside the copy itself, about: of several variants the cheapest serves a way.
  [[nodiscard]] virtual Seconds overhead() const = 0;
  // Whether pages that go from a place to another one of the same node are moved all the same.
  [[nodiscard]] virtual bool moves_within_node() const { return false; }
  // What it took now to touch a page in flight, beyond the wait until it was there; none where nobody waits.
  [[nodiscard]] virtual std::optional<Seconds> trap_latency() const { return {}; }
  // For the ways that it serves. It takes here all the memory that it will ever need. Null where the system does
  // not let this process do it.
  [[nodiscard]] virtual std::unique_ptr<Copier> make(const CopierParts& parts) const = 0;
};
const std::vector<const CopierVariant*>& copiers();

// Each pair of places by the cheapest variant that serves it, and that the system allows.
class CopierTable {
 public:
  explicit CopierTable(const CopierParts& parts);
  // Null where nobody serves the way. From k_no_place: who moves within `to`.
  [[nodiscard]] Copier* of(PlaceId from, PlaceId to) const {
    return of_[(from == k_no_place ? to : from) * places_ + to];
  }

  // Nobody serves any way from now on, and what copiers had ends.
  void end() noexcept {
    std::fill(of_.begin(), of_.end(), nullptr);
    made_.clear();
  }

 private:
  std::size_t places_;
  std::vector<std::unique_ptr<Copier>> made_;
  std::vector<Copier*> of_;  // by from and to
};

}  // namespace terrace::transfer
