// Plans of chains that come again: programs repeat their chains, with other numbers in their kernels.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "stencil/execute/tile_size.hpp"
#include "stencil/plan/recent_map.hpp"
#include "stencil/plan/signature.hpp"
#include "stencil/plan/tile_plan.hpp"

namespace terrace::stencil {

// Chains of as many loops, and of nearly as many points, take about the same time: such as those of steps that
// sweep in x first and those that sweep in y first.
// A kind holds chains of up to 2 % more points.
[[nodiscard]] std::uint64_t kind_of(std::span<const Loop> chain);

// Of all its loops; 1 at least.
[[nodiscard]] double points_of(std::span<const Loop> chain);

class PlanCache {
 public:
  // It is there until the next call.
  const TilePlan& get(std::span<const Loop> chain, const TileSize& size);

 private:
  RecentMap<std::pair<Signature, TileSize>, TilePlan> kept_{64};
};

}  // namespace terrace::stencil
