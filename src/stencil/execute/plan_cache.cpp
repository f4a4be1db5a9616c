// See plan_cache.hpp.
#include "stencil/execute/plan_cache.hpp"

#include <algorithm>

namespace terrace::stencil {
namespace {

constexpr std::size_t k_most_plans = 64;

}  // namespace

std::uint64_t kind_of(std::span<const Loop> chain) {
  std::uint64_t points = 0;
  for (const auto& loop : chain) points += loop.range.points();
  return points * 4096 + chain.size();
}

const TilePlan& PlanCache::get(std::span<const Loop> chain, const TileSize& size) {
  auto signature = signature_of(chain);
  ++uses_;
  for (auto& kept : kept_) {
    if (kept.size != size || kept.signature != signature) continue;
    kept.used = uses_;
    return *kept.plan;
  }
  if (kept_.size() == k_most_plans) kept_.erase(std::ranges::min_element(kept_, {}, &Kept::used));
  kept_.push_back({std::move(signature), size, std::make_unique<TilePlan>(chain, size), uses_});
  return *kept_.back().plan;
}

}  // namespace terrace::stencil
