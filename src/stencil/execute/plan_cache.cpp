// See plan_cache.hpp.
#include "stencil/execute/plan_cache.hpp"

#include <cmath>

namespace terrace::stencil {

std::uint64_t kind_of(std::span<const Loop> chain) {
  double points = 1;
  for (const auto& loop : chain) points += static_cast<double>(loop.range.points());
  const auto about = std::lround(32 * std::log2(points));  // to 2 %
  return static_cast<std::uint64_t>(about) << 32U | chain.size();
}

const TilePlan& PlanCache::get(std::span<const Loop> chain, const TileSize& size) {
  std::pair key(signature_of(chain), size);
  if (const auto* const kept = kept_.find(key)) return *kept;
  return kept_.add(std::move(key), TilePlan(chain, size));
}

}  // namespace terrace::stencil
