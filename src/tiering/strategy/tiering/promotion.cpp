// SPDX-License-Identifier: Apache-2.0
// See promotion.hpp.
#include "strategy/tiering/promotion.hpp"

namespace terrace::strategy {

Bytes promote_and_evict(const Tiers& tiers, std::span<const ChunkId> candidates, std::span<const ChunkId> victims,
                        Bytes reserve, PolicyChoice& choice,
                        const std::function<bool(ChunkId candidate, ChunkId victim)>& worth) {
  auto free = tiers.free;
  std::size_t gone = 0;
  Bytes promoted;
  for (const auto candidate : candidates) {
    const auto needed = tiers.size(candidate) + reserve;
    auto freed = free;
    auto until = gone;
    while (freed < needed && until < victims.size() && worth(candidate, victims[until]))
      freed += tiers.size(victims[until++]);
    if (freed < needed) continue;
    for (; gone < until; ++gone) choice.moves.push_back({victims[gone], tiers.slow});
    choice.moves.push_back({candidate, tiers.fast});
    free = freed - tiers.size(candidate);
    promoted += tiers.size(candidate);
  }
  return promoted;
}

}  // namespace terrace::strategy
