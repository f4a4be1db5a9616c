// Tests the largest free rectangles against an enumeration of all rectangles.
#include "pim/trace/fragmentation.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace terrace::pim {
namespace {

struct Brute {
  std::uint64_t free = 0, rectangle = 0, horizontal = 0, vertical = 0;
};

bool is_free(const FreeBitmap& bitmap, const FreeBitmap::Spot& spot, const Shape& shape) {
  for (auto row = spot.row; row < spot.row + shape.rows; ++row)
    for (auto subarray = spot.subarray; subarray < spot.subarray + shape.subarrays; ++subarray)
      if (!bitmap.is_free(row, subarray)) return false;
  return true;
}

Brute brute_force(const std::vector<FreeBitmap>& bitmaps) {
  Brute found;
  for (const auto& bitmap : bitmaps)
    for (std::uint32_t row = 0; row < bitmap.rows(); ++row)
      for (std::uint32_t subarray = 0; subarray < bitmap.subarrays(); ++subarray)
        for (std::uint32_t rows = 1; row + rows <= bitmap.rows(); ++rows)
          for (std::uint32_t subarrays = 1; subarray + subarrays <= bitmap.subarrays(); ++subarrays) {
            if (!is_free(bitmap, {row, subarray}, {rows, subarrays})) break;
            const auto units = std::uint64_t{rows} * subarrays;
            found.free += units == 1 ? 1 : 0;
            found.rectangle = std::max(found.rectangle, units);
            if (rows == 1) found.horizontal = std::max(found.horizontal, units);
            if (subarrays == 1) found.vertical = std::max(found.vertical, units);
          }
  return found;
}

double missing(std::uint64_t largest, std::uint64_t free, std::uint64_t most) {
  const auto best = std::min(free, most);
  return best == 0 ? 0 : 1 - static_cast<double>(largest) / static_cast<double>(best);
}

TEST(Fragmentation, RandomBitmaps_MatchBruteForce) {
  std::mt19937 random(20240607);
  for (int round = 0; round < 2000; ++round) {
    const auto rows = static_cast<std::uint32_t>(1 + random() % 11);
    const auto subarrays = static_cast<std::uint32_t>(1 + random() % 9);
    std::vector<FreeBitmap> bitmaps(1 + random() % 2, FreeBitmap(rows, subarrays));
    const auto tenths = random() % 11;  // fraction of units in use
    for (auto& bitmap : bitmaps)
      for (std::uint32_t row = 0; row < rows; ++row)
        for (std::uint32_t subarray = 0; subarray < subarrays; ++subarray)
          if (random() % 10 < tenths) bitmap.take({row, subarray}, {1, 1});
    const auto found = fragmentation_of(bitmaps);
    const auto expected = brute_force(bitmaps);
    EXPECT_EQ(found.units, std::uint64_t{rows} * subarrays * bitmaps.size());
    EXPECT_EQ(found.free, expected.free);
    EXPECT_EQ(found.rectangle.units(), expected.rectangle);
    EXPECT_EQ(found.horizontal.units(), expected.horizontal);
    EXPECT_EQ(found.vertical.units(), expected.vertical);
    EXPECT_DOUBLE_EQ(found.rectangle.fragmentation,
                     missing(expected.rectangle, expected.free, std::uint64_t{rows} * subarrays));
    EXPECT_DOUBLE_EQ(found.horizontal.fragmentation, missing(expected.horizontal, expected.free, subarrays));
    EXPECT_DOUBLE_EQ(found.vertical.fragmentation, missing(expected.vertical, expected.free, rows));
    for (const auto* largest : {&found.rectangle, &found.horizontal, &found.vertical}) {
      const auto& block = largest->block;
      if (largest->units() == 0) continue;
      EXPECT_TRUE(is_free(bitmaps[block.device], {block.row, block.subarray}, block.shape));
    }
  }
}

TEST(Fragmentation, EmptyOrFullDevice_HasNone) {
  std::vector<FreeBitmap> bitmaps(2, FreeBitmap(1024, 128));
  auto found = fragmentation_of(bitmaps);
  EXPECT_EQ(found.free, 2u * 1024 * 128);
  EXPECT_EQ(found.rectangle.block, (Block{0, 0, 0, {1024, 128}}));
  EXPECT_EQ(found.rectangle.fragmentation, 0) << "no block is larger than a device";
  for (auto& bitmap : bitmaps) bitmap.take({0, 0}, {1024, 128});
  found = fragmentation_of(bitmaps);
  EXPECT_EQ(found.free, 0u);
  EXPECT_EQ(found.rectangle.block.shape, Shape{});
  EXPECT_EQ(found.rectangle.fragmentation, 0);
}

// With every second row in use, whole rows are still free horizontally, but nothing vertically.
TEST(Fragmentation, AlternateRowsUsed_FragmentsVerticalOnly) {
  std::vector<FreeBitmap> bitmaps(1, FreeBitmap(64, 16));
  for (std::uint32_t row = 0; row < 64; row += 2) bitmaps[0].take({row, 0}, {1, 16});
  const auto found = fragmentation_of(bitmaps);
  EXPECT_EQ(found.horizontal.fragmentation, 0);
  EXPECT_EQ(found.vertical.fragmentation, 1 - 1.0 / 64);
  EXPECT_EQ(found.rectangle.fragmentation, 1 - 16.0 / 512);
}

}  // namespace
}  // namespace terrace::pim
