// The places of machines with two memories.
#pragma once

#include "core/identifiers.hpp"

namespace terrace::strategy {

inline constexpr PlaceId k_fast = 0, k_slow = 1;

}  // namespace terrace::strategy
