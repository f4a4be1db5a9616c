// What is big enough to be placed, or to lie over a file, apart from other data.
#pragma once

#include <cstdint>

#include "core/rounding.hpp"

namespace terrace {

// Blocks and mappings of less are left to the next allocator, and to the kernel. Each has chunks of 2 MiB of its
// own, so at this size a third of what it takes is wasted at most; allocators of languages map less at a time
// (Python's arenas have 1 MiB) and use it as they use the heap.
inline constexpr std::uint64_t k_big_block = 2 * k_huge_page;

}  // namespace terrace
