// SPDX-License-Identifier: Apache-2.0
// Finds or makes the plan of the next chain, and links it to the chain before. Called by the executors `streamed`
// and `gpu`, and by their model in virtual time, when a chain begins.
#include "stencil/stream/chain_plan_cache.hpp"

#include <utility>

namespace terrace::stencil {

ChainPlanCache::Entry ChainPlanCache::next(std::span<const Loop> chain) {
  const auto known = find(chain);
  if (const auto last = last_.lock()) last->next = known;
  last_ = known;
  auto& plan = known->plans[is_reversed_ ? 1 : 0];
  if (!plan.tiles) {
    plan = maker_(chain, is_reversed_);
    plan.moved = std::make_shared<StreamMoves>(plan.stream->steps.size() + 1);
  }
  if (both_ways_) is_reversed_ = !is_reversed_;
  const auto ahead = known->next.lock();
  return {&plan, ahead ? ahead->plans[is_reversed_ ? 1 : 0].stream : nullptr};
}

std::shared_ptr<ChainPlanCache::PlannedChain> ChainPlanCache::find(std::span<const Loop> chain) {
  auto signature = signature_of(chain);
  if (const auto* const known = planned_.find(signature)) return *known;
  return planned_.add(std::move(signature), std::make_shared<PlannedChain>());
}

}  // namespace terrace::stencil
