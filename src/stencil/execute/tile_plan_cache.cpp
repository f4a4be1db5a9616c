// SPDX-License-Identifier: Apache-2.0
// Implements tile_plan_cache.hpp.
#include "stencil/execute/tile_plan_cache.hpp"

namespace terrace::stencil {

const TilePlan& TilePlanCache::get(std::span<const Loop> chain, const TileSize& size) {
  std::pair key(signature_of(chain), size);
  if (const auto* const kept = kept_.find(key)) return *kept;
  return kept_.add(std::move(key), TilePlan(chain, size));
}

}  // namespace terrace::stencil
