// As a kernel places memory when it is touched: in the fastest place that has room.
#pragma once

#include <optional>
#include <vector>

#include "strategy/strategy.hpp"

namespace terrace::strategy {

// Nothing where no place has room for a chunk.
[[nodiscard]] std::optional<PlacementExtent> first_fit(const Context& context, const observe::Object& object,
                                                       std::uint32_t left);

// Where it would put all objects that live, one after the other, if nothing was anywhere: by chunk, k_no_place for
// those of objects that are gone.
[[nodiscard]] std::vector<PlaceId> first_fit_all(const Context& context);

}  // namespace terrace::strategy
