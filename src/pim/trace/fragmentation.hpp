// SPDX-License-Identifier: Apache-2.0
// How much of what is free can still be had in one piece.
#pragma once

#include <cstdint>
#include <span>

#include "pim/block.hpp"
#include "pim/free_bitmap.hpp"

namespace terrace::pim {

// Of the shape that is looked for, the largest that is free: `share` is that against what the same number of free
// units would hold if they were side by side on one device, or on as few as they need. `fragmentation` is 1 less
// that; 0 where nothing is free.
struct LargestFree {
  Block block;  // no rows, no subarrays: nothing is free
  double fragmentation = 0;
  [[nodiscard]] std::uint64_t units() const { return block.shape.units(); }
};

struct Fragmentation {
  std::uint64_t units = 0;  // of all boards: a row of a subarray is one
  std::uint64_t free = 0;
  LargestFree rectangle;   // of any shape; against the free units, and a whole device
  LargestFree horizontal;  // a run of subarrays in one row; against the free units, and a device's subarrays
  LargestFree vertical;    // a run of rows of one subarray; against the free units, and a subarray's rows
};

// Exact. Boards of one size, a device each; of equal rectangles the first that a walk by device, row and subarray
// completes. Time: a step or two for each unit.
Fragmentation fragmentation_of(std::span<const FreeBitmap> bitmaps);

}  // namespace terrace::pim
