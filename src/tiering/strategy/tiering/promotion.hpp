// Making room by demotion, for promotions that are worth it: what policies share.
#pragma once

#include <functional>
#include <span>

#include "strategy/policy.hpp"

namespace terrace::strategy {

// Asks for as many of `candidates` in fast memory, in their order, as there is room for beside `reserve` once
// `victims`, in their order, have gone to slow memory as far as it takes. A victim goes only where `worth` says
// that the candidate is worth it. Returns the bytes promoted.
Bytes promote_and_evict(const Tiers& tiers, std::span<const ChunkId> candidates, std::span<const ChunkId> victims,
                        Bytes reserve, PolicyChoice& choice,
                        const std::function<bool(ChunkId candidate, ChunkId victim)>& worth);

}  // namespace terrace::strategy
