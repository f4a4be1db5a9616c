// SPDX-License-Identifier: Apache-2.0
// Caches the plans of recent chains, in both directions, and remembers which chain followed which. A repeated
// chain is not planned again, and the data of its likely successor are prefetched while it ends. Used by the
// executors `streamed` and `gpu`, and by their model in virtual time.
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

// The plan of a chain in one direction.
struct ChainPlan {
  std::unique_ptr<TilePlan> tiles;
  std::shared_ptr<const StreamPlan> stream;
  std::shared_ptr<StreamMoves> moved{};  // chunks moved so far, by step; allocated by the cache
};

class ChainPlanCache {
 public:
  struct Entry {
    const ChainPlan* plan;
    std::shared_ptr<const StreamPlan> ahead;  // plan of the chain that followed last time, if any
  };
  // Plans a chain in one direction; may throw.
  using Maker = std::function<ChainPlan(std::span<const Loop> chain, bool is_reversed)>;

  // With `both_ways`, consecutive chains alternate in direction, so that each begins with the data that the
  // previous one used last.
  ChainPlanCache(Maker maker, bool both_ways) : maker_(std::move(maker)), both_ways_(both_ways) {}
  // Returns the plan of the chain that runs next. `plan` is valid until the next call.
  [[nodiscard]] Entry next(std::span<const Loop> chain);

 private:
  struct PlannedChain {
    std::array<ChainPlan, 2> plans;  // forward, backward
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
