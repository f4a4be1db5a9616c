// SPDX-License-Identifier: Apache-2.0
// Maps units to kinds of blocks, for the pictures of a PIM device in the pages of `terrace lab pim`.
#pragma once

#include <cstdint>
#include <vector>

#include "pim/trace/replay.hpp"

namespace terrace::pim {

inline constexpr std::uint8_t k_shades = 3;

// Returns [device][row][subarray]: 0 if free, 1 to k_shades under a horizontal block, k_shades + 1 to 2 x
// k_shades under a vertical one. Neighbours of one orientation get different shades as far as the number of
// shades allows.
std::vector<std::uint8_t> occupancy_of(const Geometry& geometry, std::vector<LiveBlock> blocks);

}  // namespace terrace::pim
