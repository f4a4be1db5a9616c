// SPDX-License-Identifier: Apache-2.0
// Which unit belongs to which kind of block: what pictures of a device are made of.
#pragma once

#include <cstdint>
#include <vector>

#include "pim/trace/replay.hpp"

namespace terrace::pim {

inline constexpr std::uint8_t k_shades = 3;

// [device][row][subarray]: 0 where it is free, 1 to k_shades under a horizontal block, k_shades + 1 to 2 x
// k_shades under a vertical one. Neighbours of one direction differ in shade, as far as so few can.
std::vector<std::uint8_t> occupancy_of(const Geometry& geometry, std::vector<LiveBlock> blocks);

}  // namespace terrace::pim
