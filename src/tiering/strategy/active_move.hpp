// SPDX-License-Identifier: Apache-2.0
// Defines the move of one chunk of the running program, as a plan requests it. PlanExecutor requests these moves,
// the runtime performs them, and the journal names them.
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
  std::uint32_t name = k_not_named;  // index among the moves that the journal has defined
};

}  // namespace terrace::strategy
