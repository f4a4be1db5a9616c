// SPDX-License-Identifier: Apache-2.0
// Measures fragmentation: how much of the free space of PIM devices is available in one piece. Called by the
// Python module for `terrace lab pim`.
#pragma once

#include <cstdint>
#include <span>

#include "pim/block.hpp"
#include "pim/free_bitmap.hpp"

namespace terrace::pim {

// The largest free rectangle of a shape. `fragmentation` is 1 - (its units / the units it would have if the
// same free units were contiguous on one device, or on as few as they need); 0 if nothing is free.
struct LargestFree {
  Block block;  // empty if nothing is free
  double fragmentation = 0;
  [[nodiscard]] std::uint64_t units() const { return block.shape.units(); }
};

struct Fragmentation {
  std::uint64_t units = 0;  // of all devices; a unit is a row of a subarray
  std::uint64_t free = 0;
  LargestFree rectangle;   // of any shape; relative to the free units and a whole device
  LargestFree horizontal;  // a run of subarrays in one row; relative to the free units and a device's subarrays
  LargestFree vertical;    // a run of rows of one subarray; relative to the free units and a subarray's rows
};

// Measures exactly, over one bitmap of equal size per device. Among equal rectangles, returns the first that a
// scan by device, row and subarray completes. Takes amortised constant time per unit.
Fragmentation fragmentation_of(std::span<const FreeBitmap> bitmaps);

}  // namespace terrace::pim
