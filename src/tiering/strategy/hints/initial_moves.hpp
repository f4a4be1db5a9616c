// SPDX-License-Identifier: Apache-2.0
// Plans the moves of counted chunks (those of objects whose references hints state) to their initial placement
// (max_references.hpp), for CountedPlacement when a loop begins. Demotions come first, so that promotions find
// free space. Chunks that would find none stay.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "strategy/hints/max_references.hpp"
#include "strategy/strategy.hpp"

namespace terrace::strategy {

class InitialMovePlanner {
 public:
  explicit InitialMovePlanner(const Context& context);

  // Adds an object whose number of references is known, spread evenly over its bytes.
  void add(const observe::Object& object, double references);
  // Adds an object without counts. Its chunks in faster memory are demoted if counted chunks need the space.
  void add_uncounted(const observe::Object& object);
  [[nodiscard]] std::size_t chunks() const { return counted_.size(); }
  // Returns the moves in the order in which they are to be made.
  [[nodiscard]] std::vector<ActiveMove> moves();

 private:
  struct ObjectChunk {
    const observe::Object* object;
    std::uint32_t ordinal;
  };
  static ChunkId chunk_of(const ObjectChunk& part) { return part.object->first_chunk + part.ordinal; }
  [[nodiscard]] const memory::Chunk& chunk_entry(ChunkId chunk) const { return (*context_.chunks)[chunk]; }
  [[nodiscard]] PlaceId resides(ChunkId chunk) const;
  void decide();
  void make_room();
  void move(const ObjectChunk& part, PlaceId to);

  const Context& context_;
  const std::vector<PlaceId>& places_;  // fastest first
  PlaceId home_;
  std::vector<std::uint64_t> free_;  // by place
  std::vector<CountedChunk> counted_;
  std::vector<ObjectChunk> counted_chunks_;  // by counted chunk
  std::vector<ObjectChunk> uncounted_;       // the others, as far as they are not at home
  std::vector<PlaceId> target_;              // by counted chunk
  std::map<ChunkId, PlaceId> moved_;
  std::vector<ActiveMove> moves_;
};

}  // namespace terrace::strategy
