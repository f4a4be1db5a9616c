// SPDX-License-Identifier: Apache-2.0
// Finds the largest free rectangle, row run and column run of PIM devices in one scan of their bitmaps. Called by
// the Python module for allocators and for replays of `terrace lab pim`.
#include "pim/trace/fragmentation.hpp"

#include <algorithm>
#include <vector>

namespace terrace::pim {
namespace {

// Scans a bitmap row by row. For each subarray it keeps the number of free rows up to this one, a skyline. The
// rectangles that end in this row lie under the skyline; a stack of its rising steps visits each maximal one
// once.
class Walk {
 public:
  Walk(const FreeBitmap& bitmap, std::uint32_t device, Fragmentation& found)
      : bitmap_(bitmap), device_(device), found_(found), height_(bitmap.subarrays(), 0) {
    rising_.reserve(bitmap.subarrays() + 1);
  }

  void row(std::uint32_t row) {
    row_ = row;
    std::uint32_t run = 0;
    for (std::uint32_t s = 0; s <= height_.size(); ++s) {
      const bool inside = s < height_.size();
      const bool free = inside && bitmap_.is_free(row, s);
      if (inside) height_[s] = free ? height_[s] + 1 : 0;
      found_.free += free ? 1 : 0;
      run = free ? run + 1 : 0;
      note(found_.horizontal, s + 1 - run, 1, run);
      if (inside) note(found_.vertical, s, height_[s], 1);
      skyline(s, inside ? height_[s] : 0);
    }
    rising_.clear();
  }

 private:
  struct Step {
    std::uint32_t subarray;  // first subarray from which the skyline is at least this high
    std::uint32_t height;
  };

  // Ends the rectangles under the skyline that are higher than this subarray's height.
  void skyline(std::uint32_t subarray, std::uint32_t height) {
    auto begin = subarray;
    while (!rising_.empty() && rising_.back().height >= height) {
      begin = rising_.back().subarray;
      note(found_.rectangle, begin, rising_.back().height, subarray - begin);
      rising_.pop_back();
    }
    if (height > 0) rising_.push_back({begin, height});
  }

  void note(LargestFree& largest, std::uint32_t subarray, std::uint32_t rows, std::uint32_t subarrays) const {
    if (std::uint64_t{rows} * subarrays <= largest.units()) return;
    largest.block = {device_, subarray, row_ + 1 - rows, {rows, subarrays}};
  }

  const FreeBitmap& bitmap_;
  std::uint32_t device_;
  Fragmentation& found_;
  std::uint32_t row_ = 0;
  std::vector<std::uint32_t> height_;  // by subarray
  std::vector<Step> rising_;
};

void compare(LargestFree& largest, std::uint64_t free, std::uint64_t most) {
  const auto best = std::min(free, most);
  largest.fragmentation = best == 0 ? 0 : 1 - static_cast<double>(largest.units()) / static_cast<double>(best);
}

}  // namespace

Fragmentation fragmentation_of(std::span<const FreeBitmap> bitmaps) {
  Fragmentation found;
  for (std::uint32_t device = 0; device < bitmaps.size(); ++device) {
    const auto& bitmap = bitmaps[device];
    Walk walk(bitmap, device, found);
    for (std::uint32_t row = 0; row < bitmap.rows(); ++row) walk.row(row);
    found.units += std::uint64_t{bitmap.rows()} * bitmap.subarrays();
  }
  if (bitmaps.empty()) return found;
  const std::uint64_t rows = bitmaps[0].rows(), subarrays = bitmaps[0].subarrays();
  compare(found.rectangle, found.free, rows * subarrays);
  compare(found.horizontal, found.free, subarrays);
  compare(found.vertical, found.free, rows);
  return found;
}

}  // namespace terrace::pim
