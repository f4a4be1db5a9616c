// See plan_cache.hpp.
#include "stencil/execute/plan_cache.hpp"

namespace terrace::stencil {

std::uint64_t kind_of(std::span<const Loop> chain) {
  std::uint64_t points = 0;
  for (const auto& loop : chain) points += loop.range.points();
  return points * 4096 + chain.size();
}

const TilePlan& PlanCache::get(std::span<const Loop> chain, const TileSize& size) {
  std::pair key(signature_of(chain), size);
  if (const auto* const kept = kept_.find(key)) return *kept;
  return kept_.add(std::move(key), TilePlan(chain, size));
}

}  // namespace terrace::stencil
