// SPDX-License-Identifier: Apache-2.0
// Declares copiers, which migrate chunks between places for the mover thread (move_queue.hpp): ledger charge,
// memory policy and pages of each chunk, and the rollback when the system refuses.
//
// The pair of places determines the copier; one run may use several. Each copier is a variant, one file in
// copiers/; the build generates their table (cmake/Variants.cmake). Order and timing of migrations are the queue's
// (move_queue.hpp). Prices of migrations, for planners and the simulator, are in the machine file ([[copier]]).
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

// Set of places, one bit for each; a ledger has at most k_ledger_places.
using PlaceSet = std::uint64_t;
static_assert(memory::k_ledger_places <= 64);

// One chunk to migrate, and the result.
struct ChunkMigration {
  memory::Chunk* chunk = nullptr;
  // Other places that hold pages of the chunk, because the kernel refused both the migration and its rollback. The
  // ledger charges the chunk on each of them as well.
  PlaceSet other_places = 0;
  Bytes size;  // bytes migrated
  bool refused = false;
  int error = 0;  // errno value of the system; 0 where the ledger refused
  void refuse(int why) {
    refused = true;
    error = why;
  }
  bool in_flight = false;      // prepared: its pages are being moved
  std::size_t pages_left = 0;  // pages that are not on the target node
};

class Copier {
 public:
  virtual ~Copier() = default;
  // Migrates chunks to `to`; each occurs once. Charges the target in the ledger, sets the memory policy so that
  // first touches allocate there, moves present pages, uncharges the source, and stores the new place. A chunk of
  // which a page cannot be moved is rolled back, keeps its place and is marked refused. Not thread-safe.
  virtual void migrate(std::span<ChunkMigration> migrations, PlaceId to) noexcept = 0;

  // Parameters for measurements (measure/): max bytes that one call moves, number of copying threads, and the copy
  // of whole present pages between places.
  [[nodiscard]] virtual Bytes max_piece() const noexcept = 0;
  [[nodiscard]] virtual std::uint32_t threads() const noexcept { return 1; }
  virtual void copy(void* to, const void* from, std::size_t size) noexcept = 0;
};

// Collaborators of a copier; all outlive it.
struct CopierParts {
  const machine::Machine& machine;
  memory::ChunkTable& chunks;
  memory::Ledger& ledger;
  void (*enter)() = nullptr;  // called first on each thread that a copier starts
};

class CopierVariant {
 public:
  virtual ~CopierVariant() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual bool supports(const machine::Place& from, const machine::Place& to) const = 0;
  // Returns the approximate time to migrate 2 MiB, without the copy itself. The cheapest variant is used for each
  // pair of places.
  [[nodiscard]] virtual Seconds overhead() const = 0;
  // Returns whether pages are moved even between two places of the same node.
  [[nodiscard]] virtual bool moves_within_node() const { return false; }
  // Measures the overhead of an access to a page in flight, without the wait for its arrival. Empty where accesses
  // do not wait.
  [[nodiscard]] virtual std::optional<Seconds> trap_latency() const { return {}; }
  // Makes a copier for the pairs that it supports, with all memory preallocated. Returns null where the system
  // does not permit it.
  [[nodiscard]] virtual std::unique_ptr<Copier> make(const CopierParts& parts) const = 0;
};
const std::vector<const CopierVariant*>& copiers();

// Maps each pair of places to the cheapest variant that supports it and that the system permits.
class CopierTable {
 public:
  explicit CopierTable(const CopierParts& parts);
  // Returns the copier of a pair, or null. k_no_place as `from` stands for `to`.
  [[nodiscard]] Copier* find(PlaceId from, PlaceId to) const {
    return by_pair_[(from == k_no_place ? to : from) * places_ + to];
  }

  // Destroys all copiers; find() returns null from then on.
  void clear() noexcept {
    std::fill(by_pair_.begin(), by_pair_.end(), nullptr);
    owned_.clear();
  }

 private:
  std::size_t places_;
  std::vector<std::unique_ptr<Copier>> owned_;
  std::vector<Copier*> by_pair_;  // from * places_ + to
};

}  // namespace terrace::transfer
