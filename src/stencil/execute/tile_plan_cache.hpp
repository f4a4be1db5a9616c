// SPDX-License-Identifier: Apache-2.0
// Caches tile plans: programs repeat their chains, with other values in their kernels.
#pragma once

#include <span>
#include <utility>

#include "stencil/execute/tile_size.hpp"
#include "stencil/plan/lru_map.hpp"
#include "stencil/plan/signature.hpp"
#include "stencil/plan/tile_plan.hpp"

namespace terrace::stencil {

class TilePlanCache {
 public:
  // Returns the plan, which is valid until the next call.
  const TilePlan& get(std::span<const Loop> chain, const TileSize& size) {
    std::pair key(signature_of(chain), size);
    if (const auto* const plan = plans_.find(key)) return *plan;
    return plans_.add(std::move(key), TilePlan(chain, size));
  }

 private:
  LruMap<std::pair<Signature, TileSize>, TilePlan> plans_{64};
};

}  // namespace terrace::stencil
