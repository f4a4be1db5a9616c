// Moves that gather the counted chunks where they are to reside: what leaves comes home first, so that the others
// find room. Whatever would find none stays where it is.
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

  void add(const observe::Object& object, double references);
  // Without counts, in faster memory: it goes where there is no room for both.
  void add_uncounted(const observe::Object& object);
  [[nodiscard]] std::size_t chunks() const { return counted_.size(); }
  [[nodiscard]] std::vector<ActiveMove> moves();

 private:
  struct ObjectChunk {
    const observe::Object* object;
    std::uint32_t ordinal;
  };
  static ChunkId chunk_of(const ObjectChunk& part) { return part.object->first_chunk + part.ordinal; }
  [[nodiscard]] const memory::Chunk& of(ChunkId chunk) const { return (*context_.chunks)[chunk]; }
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
  std::vector<ObjectChunk> uncounted_;       // the others, outside their home
  std::vector<PlaceId> target_;              // by counted chunk
  std::map<ChunkId, PlaceId> moved_;
  std::vector<ActiveMove> moves_;
};

}  // namespace terrace::strategy
