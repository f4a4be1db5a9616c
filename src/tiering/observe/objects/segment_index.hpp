// SPDX-License-Identifier: Apache-2.0
// Implements an ordered index of disjoint segments of an address space for the address map, with one writer and
// lock-free readers. Segments are in blocks that are small enough to shift, under one directory. Memory that a
// reader may still read is reused, but not freed, until the index is destroyed. A reader that runs concurrently
// with a change may get a wrong result, but never faults: the owner keeps a generation counter and discards such
// results (a seqlock).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/chunk_table.hpp"

namespace terrace::observe {

struct Segment {
  std::uint64_t low = 0, high = 0;
  std::uint64_t delta = 0;   // canonical address = host address + delta (modulo 2^64)
  std::uint64_t origin = 0;  // begin of the chunk, in the address space of low and high
  ChunkId chunk = memory::k_no_chunk;
  std::uint64_t reuse_delta = 0;  // canonical address less that of the freed memory which it reuses
};

class SegmentIndex {
 public:
  SegmentIndex();
  ~SegmentIndex();
  SegmentIndex(const SegmentIndex&) = delete;
  SegmentIndex& operator=(const SegmentIndex&) = delete;

  // Finds the segment that contains `address`. For readers.
  [[nodiscard]] bool find(std::uint64_t address, Segment& found) const;

  // The functions below are for the writer. Returns whether a segment overlaps [low, high).
  [[nodiscard]] bool overlaps(std::uint64_t low, std::uint64_t high) const;
  // Requires: no segment overlaps.
  void insert(const Segment& segment);
  // Removes [low, high), splitting segments at its ends; returns the removed pieces in order.
  std::vector<Segment> cut(std::uint64_t low, std::uint64_t high);
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Block;
  struct Directory;
  struct Position {
    std::uint32_t block = 0;
    std::uint32_t entry = 0;
  };

  // Returns the last block that begins at or below `address`; 0 where there is none.
  static std::uint32_t block_of(const Directory& directory, std::uint32_t count, std::uint64_t address);
  // Returns the first segment that ends above `address`.
  [[nodiscard]] Position lower(std::uint64_t address) const;
  [[nodiscard]] bool at_end(Position position) const;
  void erase(Position position);
  Block* fresh_block();
  void add_block(std::uint32_t at, Block* block);
  void drop_block(std::uint32_t at);

  Directory* directory_;
  std::vector<std::unique_ptr<Directory>> directories_;  // all, because readers may use an old one
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Block*> free_;
  std::size_t size_ = 0;
};

}  // namespace terrace::observe
