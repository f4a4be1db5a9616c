// Time in latencies of memory, as chains of dependent misses count it (exposure.hpp).
#pragma once

#include <cstdint>

namespace terrace::observe {

using Level = std::uint64_t;
// No level: nothing is waited for. A plain number, because an optional does not travel in one register, and this
// travels with every miss.
inline constexpr Level k_no_level = ~std::uint64_t{0};

}  // namespace terrace::observe
