// SPDX-License-Identifier: Apache-2.0
// Moves everything back to where it resided at an earlier time, when LearningStrategy withdraws a plan or another
// loop begins.
#pragma once

#include <span>
#include <vector>

#include "strategy/requests.hpp"
#include "strategy/strategy.hpp"

namespace terrace::strategy {

// Returns the place of each chunk now.
[[nodiscard]] std::vector<PlaceId> current_places(const Context& context);

// Returns the moves to `places` (by chunk; k_no_place, or no entry: the chunk stays) that find free space once all
// pending moves are done. Moves to slower places come first: they free space for the others.
[[nodiscard]] std::vector<transfer::TransferRequest> moves_to_places(const Context& context,
                                                                     std::span<const PlaceId> places,
                                                                     Requests& requests);

// Requests these moves at full speed. No phase waits any longer for a move that was requested before.
void request_places(const Context& context, std::span<const PlaceId> places, std::uint32_t iteration,
                    Requests& requests);

}  // namespace terrace::strategy
