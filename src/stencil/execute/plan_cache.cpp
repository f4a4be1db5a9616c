// See plan_cache.hpp.
#include "stencil/execute/plan_cache.hpp"

#include <algorithm>
#include <cmath>

namespace terrace::stencil {

double points_of(std::span<const Loop> chain) {
  double points = 0;
  for (const auto& loop : chain) points += static_cast<double>(loop.range.points());
  return std::max(points, 1.0);
}

std::uint64_t kind_of(std::span<const Loop> chain) {
  const auto about = std::lround(32 * std::log2(points_of(chain)));
  return static_cast<std::uint64_t>(about) << 32U | chain.size();
}

const TilePlan& PlanCache::get(std::span<const Loop> chain, const TileSize& size) {
  std::pair key(signature_of(chain), size);
  if (const auto* const kept = kept_.find(key)) return *kept;
  return kept_.add(std::move(key), TilePlan(chain, size));
}

}  // namespace terrace::stencil
