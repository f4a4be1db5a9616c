// SPDX-License-Identifier: Apache-2.0
// Defines the size from which the agent and the simulator manage blocks and mappings: these are placed, or backed
// by a file, apart from other data.
#pragma once

#include <cstdint>

#include "core/rounding.hpp"

namespace terrace {

// Smaller blocks are left to the next allocator, smaller mappings to the kernel. A managed block has chunks of 2
// MiB of its own, so at this size at most a third of its memory is wasted. Language runtimes map less at a time
// for their heaps (Python's arenas have 1 MiB).
inline constexpr std::uint64_t k_big_block = 2 * k_huge_page;

}  // namespace terrace
