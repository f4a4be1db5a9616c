// Disjoint segments of an address space, in order. One writer at a time changes it; readers search beside the
// writer without locks. Segments are in blocks that are small enough to shift, under one directory; memory that a
// reader may still look at is reused, but not given back, until the index is destroyed. A reader that ran into a
// change gets nonsense, never a fault: whoever owns the index keeps a generation counter and throws such answers
// away.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/chunk_table.hpp"

namespace terrace::observe {

struct Segment {
  std::uint64_t low = 0, high = 0;
  std::uint64_t delta = 0;   // canonical address = host address + delta (modulo 2^64)
  std::uint64_t origin = 0;  // where the chunk begins, in the address space of low and high
  ChunkId chunk = memory::k_no_chunk;
  std::uint64_t reuse_delta = 0;  // canonical address less that of the memory that it stands for
};

class SegmentIndex {
 public:
  SegmentIndex();
  ~SegmentIndex();
  SegmentIndex(const SegmentIndex&) = delete;
  SegmentIndex& operator=(const SegmentIndex&) = delete;

  // The segment that holds `address`. Reads only.
  [[nodiscard]] bool find(std::uint64_t address, Segment& found) const;

  // Whether anything is in [low, high). The writer's, like the rest.
  [[nodiscard]] bool overlaps(std::uint64_t low, std::uint64_t high) const;
  // The rest is the writer's. `insert` expects that nothing overlaps.
  void insert(const Segment& segment);
  // Takes out what is in [low, high), cutting segments that reach over its ends; returns the pieces, in order.
  std::vector<Segment> cut(std::uint64_t low, std::uint64_t high);
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Block;
  struct Directory;
  struct Position {
    std::uint32_t block = 0;
    std::uint32_t entry = 0;
  };

  // Index of the last block that begins at or below `address`; 0 when there is none.
  static std::uint32_t block_of(const Directory& directory, std::uint32_t count, std::uint64_t address);
  // The first segment that ends above `address`.
  [[nodiscard]] Position lower(std::uint64_t address) const;
  [[nodiscard]] bool at_end(Position position) const;
  void erase(Position position);
  Block* fresh_block();
  void add_block(std::uint32_t at, Block* block);
  void drop_block(std::uint32_t at);

  Directory* directory_;
  std::vector<std::unique_ptr<Directory>> directories_;  // all that ever were: readers may hold an old one
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Block*> free_;
  std::size_t size_ = 0;
};

}  // namespace terrace::observe
