// SPDX-License-Identifier: Apache-2.0
// Places memory as a kernel does at first touch: in the fastest place with free space. Shared by strategies and
// static placements.
#pragma once

#include <optional>
#include <vector>

#include "strategy/strategy.hpp"

namespace terrace::strategy {

// Returns where to allocate the next chunks of the object; nothing if no place has space for a chunk.
[[nodiscard]] std::optional<PlacementExtent> first_fit(const Context& context, const observe::Object& object,
                                                       std::uint32_t left);

// Returns the first-fit placement of all live objects, in their order, from empty places: by chunk, k_no_place for
// chunks of freed objects.
[[nodiscard]] std::vector<PlaceId> first_fit_all(const Context& context);

}  // namespace terrace::strategy
