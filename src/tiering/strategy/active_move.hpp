// A plan's move of one chunk of this run.
#pragma once

#include <cstdint>

#include "core/identifiers.hpp"
#include "strategy/plan_expansion.hpp"

namespace terrace::strategy {

struct ActiveMove {
  static constexpr std::uint32_t k_not_named = UINT32_MAX;

  ChunkMove planned;
  ChunkId chunk = 0;
  ObjectId object = 0;
  std::uint32_t name = k_not_named;  // in the journal: its position among the moves that were written down
};

}  // namespace terrace::strategy
