// SPDX-License-Identifier: Apache-2.0
// Defines the unit of time of chains of dependent misses: a level is one memory latency (exposure.hpp).
#pragma once

#include <cstdint>

namespace terrace::observe {

using Level = std::uint64_t;
// No level: there is nothing to wait for. A plain number, because it is passed with every miss and an optional
// does not fit in one register.
inline constexpr Level k_no_level = ~std::uint64_t{0};

}  // namespace terrace::observe
