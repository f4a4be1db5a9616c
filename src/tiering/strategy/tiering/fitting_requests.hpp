// SPDX-License-Identifier: Apache-2.0
// Requests the moves of policies and early moves between two tiers, as far as they find free space.
#pragma once

#include <span>

#include "strategy/policy.hpp"
#include "strategy/strategy.hpp"

namespace terrace::strategy {

// Returns the tiers of the program (the fastest place of its domain and its home) in their present state.
[[nodiscard]] Tiers tiers_of(const Context& context);

// Requests the moves that will find free space, in their order. The others are dropped, because the mover blocks
// all later moves behind one without space.
void request_fitting_moves(std::span<const transfer::TransferRequest> wanted, const Context& context,
                           PhaseIndex phase, std::uint32_t iteration, Requests& requests);

}  // namespace terrace::strategy
