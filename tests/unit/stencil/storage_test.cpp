// Tests the memory layout of datasets: rows and cache sets, counted line by line.
#include "stencil/data/storage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace terrace::stencil::test {
namespace {

constexpr std::ptrdiff_t k_line = 64;

// Returns the maximum number of lines of a tile of 64 rows of 4 KiB in one of 2048 sets.
int max_in_a_set(std::ptrdiff_t row_bytes) {
  std::vector<int> sets(2048);
  for (std::ptrdiff_t row = 0; row < 64; ++row)
    for (std::ptrdiff_t at = 0; at < 4096; at += k_line)
      ++sets[static_cast<std::size_t>((row * row_bytes + at) / k_line % 2048)];
  return *std::ranges::max_element(sets);
}

TEST(PaddedRow, Tiles_SpreadOverCacheSets) {
  EXPECT_EQ(max_in_a_set(16384 * 8), 64);  // the case that padding fixes
  for (std::ptrdiff_t length = 1024; length < 70000; length += length < 5000 ? 1 : 977)
    ASSERT_LE(max_in_a_set(padded_row(length, 8) * 8), 4) << length;
  for (std::ptrdiff_t power = 2048; power <= (1 << 20); power *= 2)
    for (const auto length : {power - 2, power, power + 2, power + 4, 3 * power + 2})
      for (const std::ptrdiff_t element : {8, 12, 24, 40, 128}) {
        const auto row = padded_row(length, static_cast<std::size_t>(element)) * element;
        // Rows that are not whole lines share one more at their ends.
        ASSERT_LE(max_in_a_set(row), row % k_line == 0 ? 4 : 5) << length << ' ' << element;
      }
}

TEST(PaddedRow, AnyLength_AddsLittleMemory) {
  for (const std::size_t element : {4, 8, 24, 64, 128})
    for (std::ptrdiff_t length = 1; length < 40000; length += 1 + length / 50) {
      const auto row = padded_row(length, element);
      ASSERT_GE(row, length);
      const auto added = (row - length) * static_cast<std::ptrdiff_t>(element);
      // Padding: to a whole line, one line for an odd number, and at most 1/32.
      const auto line = std::max(k_line, static_cast<std::ptrdiff_t>(element));
      ASSERT_LE(added, 2 * line + length * static_cast<std::ptrdiff_t>(element) / 32) << length << ' ' << element;
    }
}

}  // namespace
}  // namespace terrace::stencil::test
