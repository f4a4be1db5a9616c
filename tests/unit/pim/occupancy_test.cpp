// Tests the occupancy map of a replay: it covers live blocks exactly, separates orientations, and gives
// neighbours different shades.
#include "pim/trace/occupancy.hpp"

#include <gtest/gtest.h>

#include <random>

namespace terrace::pim {
namespace {

constexpr Geometry k_small{.rows = 32, .columns = 64, .subarrays = 4, .banks = 3, .devices = 2};

TEST(PimOccupancy, Map_CoversLiveBlocksExactly) {
  std::mt19937 random(5);
  Allocator allocator(k_small);
  std::vector<LiveBlock> live;
  for (int i = 0; i < 40; ++i) {
    const auto dim = random() % 2 == 0 ? Dim::horizontal : Dim::vertical;
    const Shape shape{1 + static_cast<std::uint32_t>(random() % 9), 1 + static_cast<std::uint32_t>(random() % 5)};
    const auto handle = allocator.allocate({.shape = shape, .dim = dim});
    if (handle) live.push_back({handle, *allocator.block(handle), dim});
  }
  const auto map = occupancy_of(k_small, live);
  ASSERT_EQ(map.size(), k_small.units());
  const auto bitmaps = allocator.snapshot();
  for (std::uint32_t device = 0; device < k_small.devices; ++device)
    for (std::uint32_t row = 0; row < k_small.rows; ++row)
      for (std::uint32_t subarray = 0; subarray < k_small.width(); ++subarray) {
        const auto cell = map[(std::size_t{device} * k_small.rows + row) * k_small.width() + subarray];
        EXPECT_EQ(cell == 0, bitmaps[device].is_free(row, subarray));
        EXPECT_LE(cell, 2 * k_shades);
      }
  for (const auto& [handle, block, dim] : live) {
    const auto first =
        map[(std::size_t{block.device} * k_small.rows + block.row) * k_small.width() + block.subarray];
    EXPECT_EQ(first > k_shades, dim == Dim::vertical);
  }
}

TEST(PimOccupancy, Neighbours_DifferInShade) {
  std::vector<LiveBlock> live;
  for (std::uint32_t row = 0; row < 32; row += 4)
    for (std::uint32_t subarray = 0; subarray < 12; subarray += 3)
      live.push_back({{}, {0, subarray, row, {4, 3}}, Dim::vertical});
  const auto map = occupancy_of(k_small, live);
  const auto at = [&](std::uint32_t row, std::uint32_t subarray) { return map[row * 12 + subarray]; };
  for (std::uint32_t row = 0; row < 32; row += 4)
    for (std::uint32_t subarray = 0; subarray < 12; subarray += 3) {
      if (row > 0) {
        EXPECT_NE(at(row, subarray), at(row - 1, subarray));
      }
      if (subarray > 0) {
        EXPECT_NE(at(row, subarray), at(row, subarray - 1));
      }
    }
}

}  // namespace
}  // namespace terrace::pim
