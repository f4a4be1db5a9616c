// SPDX-License-Identifier: Apache-2.0
// Declares the table of the chunks of a running program, the units of placement: the object, address and place of
// each. A process has one; attribution, movers, providers and the runtime identify chunks by their index in it.
//
// Indices are assigned in order and never reused, so the table is also the history of the run. Only the owner (the
// runtime) adds chunks. Afterwards `place` alone changes, set by the mover that finished a transfer, from any
// thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>

#include "core/identifiers.hpp"
#include "core/units.hpp"
#include "machine/machine.hpp"

namespace terrace::memory {

inline constexpr ChunkId k_no_chunk = 0xffffffff;

struct Chunk {
  std::uint64_t address = 0;  // first byte in this process
  std::uint32_t size = 0;     // bytes; whole granules except for the last chunk of an object
  ObjectId object = 0;
  DomainId domain = 0;
  std::atomic<PlaceId> place{k_no_place};  // changed by ChunkTable::put
  bool live = true;                        // false once its object is freed
};

class ChunkTable {
 public:
  // Appends a chunk and returns its number. References to chunks stay valid.
  ChunkId add(std::uint64_t address, std::uint32_t size, ObjectId object, DomainId domain, PlaceId place) {
    auto& chunk = chunks_.emplace_back();
    chunk.address = address;
    chunk.size = size;
    chunk.object = object;
    chunk.domain = domain;
    put(chunk, place);
    return static_cast<ChunkId>(chunks_.size() - 1);
  }
  // Sets the place of a chunk of this table. Thread-safe.
  void put(Chunk& chunk, PlaceId place) {
    chunk.place.store(place, std::memory_order_relaxed);
    changes_.fetch_add(1, std::memory_order_release);
  }
  // Returns a version that changes with every addition and every change of a place. Read it before the chunks.
  [[nodiscard]] std::uint64_t changes() const { return changes_.load(std::memory_order_acquire); }
  [[nodiscard]] std::size_t size() const { return chunks_.size(); }
  [[nodiscard]] auto begin() const { return chunks_.begin(); }
  [[nodiscard]] auto end() const { return chunks_.end(); }
  [[nodiscard]] Chunk& operator[](ChunkId id) { return chunks_[id]; }
  [[nodiscard]] const Chunk& operator[](ChunkId id) const { return chunks_[id]; }

 private:
  std::deque<Chunk> chunks_;
  std::atomic<std::uint64_t> changes_{0};
};

}  // namespace terrace::memory
