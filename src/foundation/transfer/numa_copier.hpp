// SPDX-License-Identifier: Apache-2.0
// Declares the common base of the copiers between NUMA nodes (copiers/): memory policy, ledger charges and
// rollback of each chunk. A derived copier defines how pages are moved; the base moves them by move_pages(2). Not
// thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "memory/numa_node.hpp"
#include "transfer/copier.hpp"

namespace terrace::transfer {

class NumaCopier : public Copier {
 public:
  explicit NumaCopier(const CopierParts& parts);

  void migrate(std::span<ChunkMigration> migrations, PlaceId to) noexcept final;
  [[nodiscard]] Bytes max_piece() const noexcept override { return {memory::k_page_batch * k_page}; }
  void copy(void* to, const void* from, std::size_t size) noexcept override;

 protected:
  // Moves the present pages of migrations that are in flight to `node`, and sets their `pages_left`. This version
  // uses move_pages(2), with many chunks per call.
  virtual void move_pages(std::span<ChunkMigration> migrations, int node) noexcept;

  // Splits huge pages that a chunk shares with its neighbours, which move_pages(2) would move along.
  virtual void split_huge_page(const memory::Chunk& chunk) noexcept;
  // Frees capacity on a full place. Returns whether it freed some.
  virtual bool reclaim_space(PlaceId) noexcept { return false; }
  // Called after each migrate(), when its chunks are charged.
  virtual void on_round_charged() noexcept {}

  [[nodiscard]] static std::size_t pages_of(const memory::Chunk& chunk) noexcept;
  [[nodiscard]] static std::size_t range_of(const memory::Chunk& chunk) noexcept;
  [[nodiscard]] int node_of(PlaceId place) const noexcept;  // -1: none

 private:
  // Pages of one system call, with the migration that each belongs to.
  struct Batch {
    std::array<void*, memory::k_page_batch> pages;
    std::array<int, memory::k_page_batch> where;
    std::array<ChunkMigration*, memory::k_page_batch> migration;
    std::size_t count = 0;
  };
  bool prepare(ChunkMigration& migration, PlaceId to) noexcept;
  void move_batch(int node) noexcept;
  void commit(ChunkMigration& migration, PlaceId to) noexcept;
  void rollback(ChunkMigration& migration, PlaceId to) noexcept;
  void set_policy(const memory::Chunk& chunk, PlaceId place) noexcept;
  void retain_charges(ChunkMigration& migration, PlaceSet places) noexcept;
  [[nodiscard]] PlaceSet places_with_pages(const memory::Chunk& chunk) noexcept;
  [[nodiscard]] PlaceId place_count() const noexcept { return static_cast<PlaceId>(machine_.places().size()); }

  const machine::Machine& machine_;
  memory::ChunkTable& chunks_;
  memory::Ledger& ledger_;
  std::unique_ptr<Batch> batch_;
};

}  // namespace terrace::transfer
