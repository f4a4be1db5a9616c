// SPDX-License-Identifier: Apache-2.0
// Describes a data object of the program: a named range of its memory, divided into chunks (units of migration).
// Used throughout the runtime.
#pragma once

#include <cstdint>
#include <string>

#include "core/identifiers.hpp"
#include "core/units.hpp"

namespace terrace::observe {

enum class ObjectKind : std::uint8_t { heap, mapping, fixed, common, stack, small, named };

struct Object {
  ObjectId id = 0;
  std::string name;  // unique in the run: "makea cg.cpp:120", "fields_.u", "(stack)"
  ObjectKind kind = ObjectKind::heap;
  Bytes size;
  Bytes chunk_size;
  ChunkId first_chunk = 0;
  std::uint32_t chunks = 0;
  bool live = true;
};

// An object with memory that no traced access has reached.
struct UncoveredObject {
  ObjectId object = 0;
  Bytes size;  // bytes that were touched without any traced access
};

}  // namespace terrace::observe
