// What copiers between NUMA nodes share: policy, pages and account of each chunk, and the way back when the system
// refuses. How pages come to another node is a copier's own; what it cannot bring move_pages(2) does.
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
  [[nodiscard]] Bytes piece() const noexcept override { return {memory::k_page_batch * k_page}; }
  void copy(void* to, const void* from, std::size_t size) noexcept override;

 protected:
  // Brings what loads that are `underway` have in memory to `node`, and leaves in each how much of it stayed
  // behind. By move_pages, many chunks a call.
  virtual void move_pages(std::span<ChunkMigration> migrations, int node) noexcept;

  // Before a chunk sets out: move_pages would take its neighbours along, where they share a huge page.
  virtual void split_huge_page(const memory::Chunk& chunk) noexcept;
  // The place has no room for a chunk: true where it may have some now.
  virtual bool reclaim_space(PlaceId) noexcept { return false; }
  // All that was carried is on the account.
  virtual void on_round_charged() noexcept {}

  [[nodiscard]] static std::size_t pages_of(const memory::Chunk& chunk) noexcept;
  [[nodiscard]] static std::size_t range_of(const memory::Chunk& chunk) noexcept;
  [[nodiscard]] int node_of(PlaceId place) const noexcept;  // -1 where it has none

 private:
  // The pages of one call, and the load that each belongs to.
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
