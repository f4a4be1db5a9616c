// SPDX-License-Identifier: Apache-2.0
// Creates the chunks (units of migration) of objects: reserves capacity in the ledger, binds memory to places as
// far as the capacity goes, and releases the capacity when the object is freed. Used by Configuration. Not
// thread-safe: the caller holds the program's lock.
#pragma once

#include "memory/ledger.hpp"
#include "runtime/migrations.hpp"
#include "runtime/runtime_parts.hpp"
#include "strategy/strategy.hpp"

namespace terrace::runtime {

class ChunkBinding {
 public:
  // All arguments are borrowed and outlive this object.
  ChunkBinding(const ConfigurationParts& parts, DomainId domain, JournalWriter& journal, Migrations& migrations)
      : parts_(parts), domain_(domain), journal_(journal), migrations_(migrations) {}

  // `address`: of the first chunk, a multiple of the granule. `is_at_home`: all of it is bound to the home place.
  void add(const observe::Object& object, std::uint64_t address, bool is_at_home, strategy::Strategy& strategy);
  // Returns whether all of the object is at its home place, or where the system puts it, and none of it is moving.
  [[nodiscard]] bool is_at_home(const observe::Object& object);
  void remove(const observe::Object& object);

 private:
  ChunkId reserve_capacity(ChunkId first, ChunkId end, PlaceId place);
  void bind(ChunkId first, std::uint32_t count, PlaceId place, bool is_at_home);

  const ConfigurationParts& parts_;
  DomainId domain_;
  JournalWriter& journal_;
  Migrations& migrations_;
};

}  // namespace terrace::runtime
