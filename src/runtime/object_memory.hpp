// Where an object's chunks are, the same in every configuration.
#pragma once

#include <cstdint>

#include "observe/object.hpp"

namespace terrace::runtime {

struct ObjectMemory {
  observe::Object object;
  std::uint64_t address = 0;  // of the first chunk, a multiple of the granule
};

}  // namespace terrace::runtime
