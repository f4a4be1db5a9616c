// SPDX-License-Identifier: Apache-2.0
// Requests moves between the two tiers as far as they find free space, for policies and EarlyMover. See
// fitting_requests.hpp.
#include "strategy/tiering/fitting_requests.hpp"

#include <vector>

namespace terrace::strategy {

Tiers tiers_of(const Context& context) {
  const auto fast = context.places().front();
  return {context.chunks,
          context.domain,
          fast,
          context.home(),
          context.ledger->budget(fast),
          context.ledger->available(fast),
          context.machine->path(context.initiator, fast).read,
          context.machine->path(context.initiator, context.home()).read};
}

void request_fitting_moves(std::span<const transfer::TransferRequest> wanted, const Context& context,
                           PhaseIndex phase, std::uint32_t iteration, Requests& requests) {
  const auto tiers = tiers_of(context);
  auto free = tiers.free;
  std::vector<transfer::TransferRequest> fitting;
  for (const auto& move : wanted) {
    const auto size = tiers.size(move.chunk);
    if (tiers.is_on(move.chunk, move.to)) continue;
    if (move.to == tiers.fast && free < size) continue;
    if (move.to == tiers.fast)
      free -= size;
    else if (tiers.is_on(move.chunk, tiers.fast))
      free += size;
    fitting.push_back(move);
  }
  requests.request_moves(fitting, phase, iteration);
}

}  // namespace terrace::strategy
