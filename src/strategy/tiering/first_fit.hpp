// As a kernel places memory when it is touched: in the fastest place that has room.
#pragma once

#include <optional>

#include "strategy/strategy.hpp"

namespace terrace::strategy {

// Nothing where no place has room for a chunk.
[[nodiscard]] std::optional<Stretch> first_fit(const Context& context, const observe::Object& object,
                                               std::uint32_t left);

}  // namespace terrace::strategy
