// Tests PlacedRanges against a record of single pages.
#include "memory/ordered/placed_ranges.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

namespace terrace::memory {
namespace {

TEST(PlacedRanges, RandomHistory_EqualsPerPageRecord) {
  constexpr std::uint64_t k_size = 64;
  constexpr std::uint64_t k_unit = 4096;
  std::mt19937 random(3);
  PlacedRanges ranges;
  std::array<PlaceId, k_size> pages;
  pages.fill(k_no_place);
  std::uint64_t held = 0;
  for (int step = 0; step < 20000; ++step) {
    const auto begin = random() % k_size;
    const auto size = 1 + random() % std::min<std::uint64_t>(16, k_size - begin);
    std::uint64_t gone = 0;
    for (const auto& range : ranges.remove(begin * k_unit, size * k_unit)) {
      gone += range.size / k_unit;
      held -= range.held;
      ASSERT_GE(range.address, begin * k_unit);
      ASSERT_LE(range.address + range.size, (begin + size) * k_unit);
    }
    const auto known =
        std::count_if(pages.begin() + static_cast<long>(begin), pages.begin() + static_cast<long>(begin + size),
                      [](PlaceId page) { return page != k_no_place; });
    ASSERT_EQ(gone, static_cast<std::uint64_t>(known));
    const auto place = random() % 3 == 0 ? k_no_place : static_cast<PlaceId>(random() % 2);
    std::fill_n(pages.begin() + static_cast<long>(begin), size, place);
    if (place != k_no_place) {
      const auto part = random() % 4 == 0 ? random() % (size * k_unit) : size * k_unit;
      ranges.add({begin * k_unit, size * k_unit, place, part, 7});
      held += part;
    }
    for (std::uint64_t page = 0; page < k_size; ++page) {
      const auto found = ranges.find(page * k_unit + random() % k_unit);
      ASSERT_EQ(found.size > 0 ? found.place : k_no_place, pages[page]) << "page " << page << ", step " << step;
    }
    const auto page = random() % k_size;
    auto low = page;
    auto high = page;
    while (low > 0 && pages[low - 1] == k_no_place) --low;
    while (high < k_size && pages[high] == k_no_place) ++high;
    const auto gap = ranges.find_gap(page * k_unit, 0, k_size * k_unit);
    ASSERT_EQ(gap.size, (high - (high == page ? page : low)) * k_unit);
    if (gap.size > 0) {
      ASSERT_EQ(gap.address, low * k_unit);
    }
  }
  for (const auto& range : ranges.remove(0, k_size * k_unit)) held -= range.held;
  EXPECT_EQ(held, 0u) << "all acquired bytes are returned once";
}

}  // namespace
}  // namespace terrace::memory
