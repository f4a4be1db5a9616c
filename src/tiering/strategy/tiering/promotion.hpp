// SPDX-License-Identifier: Apache-2.0
// Promotes chunks and evicts others to free the space for them. Shared by policies.
#pragma once

#include <functional>
#include <span>

#include "strategy/policy.hpp"

namespace terrace::strategy {

// Promotes as many of `candidates`, in their order, as fit while `reserve` stays free. Demotes `victims`, in their
// order, as far as needed; a victim is demoted only if `worth` accepts the pair. Returns the promoted bytes.
Bytes promote_and_evict(const Tiers& tiers, std::span<const ChunkId> candidates, std::span<const ChunkId> victims,
                        Bytes reserve, PolicyChoice& choice,
                        const std::function<bool(ChunkId candidate, ChunkId victim)>& worth);

}  // namespace terrace::strategy
