// Two tiers of a running program, and moves between them that find room.
#pragma once

#include <span>

#include "strategy/policy.hpp"
#include "strategy/strategy.hpp"

namespace terrace::strategy {

// The fastest place of the program's domain and its home, as they are now.
[[nodiscard]] Tiers tiers_of(const Context& context);

// A mover lets everything wait behind what has no room; so nothing is asked for that will have none.
void request_fitting_moves(std::span<const transfer::TransferRequest> wanted, const Context& context,
                           PhaseIndex phase, std::uint32_t iteration, Requests& requests);

}  // namespace terrace::strategy
