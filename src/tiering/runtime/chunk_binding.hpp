// Makes the chunks of objects: binds their memory to places as far as there is room, and gives the room back.
#pragma once

#include "memory/ledger.hpp"
#include "runtime/migrations.hpp"
#include "runtime/runtime_parts.hpp"
#include "strategy/strategy.hpp"

namespace terrace::runtime {

// Where an object's chunks are, the same in every configuration.
struct ObjectMemory {
  observe::Object object;
  std::uint64_t address = 0;  // of the first chunk, a multiple of the granule
};

class ChunkBinding {
 public:
  // All outlive it.
  ChunkBinding(const ConfigurationParts& parts, DomainId domain, Journalist& journal, Migrations& migrations)
      : parts_(parts), domain_(domain), journal_(journal), migrations_(migrations) {}

  void add(const ObjectMemory& memory, strategy::Strategy& strategy);
  void remove(const observe::Object& object);

 private:
  ChunkId take_room(ChunkId first, ChunkId end, PlaceId place);
  void bind(ChunkId first, std::uint32_t count, PlaceId place);

  const ConfigurationParts& parts_;
  DomainId domain_;
  Journalist& journal_;
  Migrations& migrations_;
};

}  // namespace terrace::runtime
