// SPDX-License-Identifier: Apache-2.0
// Chains that came before: their plans in both directions, and which chain came after which. So a chain that comes
// again is not planned again, and what is taken to come next can be brought before it does.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>

#include "stencil/plan/lru_map.hpp"
#include "stencil/plan/signature.hpp"
#include "stencil/plan/stream_plan.hpp"
#include "stencil/plan/tile_plan.hpp"

namespace terrace::stencil {

// A chain's plan in one direction.
struct ChainPlan {
  std::unique_ptr<TilePlan> tiles;
  std::shared_ptr<const StreamPlan> stream;
  std::shared_ptr<StreamMoves> moved{};  // what it has moved, by step; the book makes it
};

class ChainPlanCache {
 public:
  struct Entry {
    const ChainPlan* plan;
    std::shared_ptr<const StreamPlan> ahead;  // of the chain that came after this one the last time, if any did
  };
  // Makes a chain's tiles and steps in a direction; it may throw.
  using Maker = std::function<ChainPlan(std::span<const Loop> chain, bool is_reversed)>;

  // `both_ways`: chains go forward and back in turns, so that each begins with what the one before has ended with.
  ChainPlanCache(Maker maker, bool both_ways) : maker_(std::move(maker)), both_ways_(both_ways) {}
  // The next chain that runs. What `plan` shows is there until the next call.
  [[nodiscard]] Entry next(std::span<const Loop> chain);

 private:
  struct PlannedChain {
    std::array<ChainPlan, 2> plans;  // forward, reversed
    std::weak_ptr<PlannedChain> next;
  };
  std::shared_ptr<PlannedChain> find(std::span<const Loop> chain);

  Maker maker_;
  bool both_ways_;
  LruMap<Signature, std::shared_ptr<PlannedChain>> planned_{32};
  std::weak_ptr<PlannedChain> last_;
  bool is_reversed_ = false;
};

}  // namespace terrace::stencil
