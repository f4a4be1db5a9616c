// Compares MappedRanges with a table of pages.
#include "agent/heap/mapped_ranges.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace terrace::agent {
namespace {

using Kind = MappedRanges::Kind;

TEST(MappedRanges, RandomCalls_ComparedWithPageTable_AreEqual) {
  struct Page {
    bool there = false;
    Kind kind{};
    int protection = 0;
  };
  std::array<Page, 200> pages{};
  MappedRanges ranges;
  std::mt19937 random(7);
  const auto draw = [&](std::size_t below) { return static_cast<std::size_t>(random() % below); };
  for (int step = 0; step < 20'000; ++step) {
    const auto start = draw(pages.size());
    const auto end = start + 1 + draw(pages.size() - start);
    const auto kind = static_cast<Kind>(draw(3));
    const int protection = static_cast<int>(draw(3));
    switch (draw(3)) {
      case 0:
        ranges.set({start, end, kind, protection});
        for (auto page = start; page < end; ++page) pages[page] = {true, kind, protection};
        break;
      case 1:
        ranges.remove(start, end);
        for (auto page = start; page < end; ++page) pages[page] = {};
        break;
      default:
        ranges.protect(start, end, protection);
        for (auto page = start; page < end; ++page)
          if (pages[page].there) pages[page].protection = protection;
    }
    const auto from = draw(pages.size());
    const auto to = from + draw(pages.size() - from);
    std::array<Page, 200> seen{};
    auto before = from;
    for (const auto& part : ranges.within(from, to)) {
      ASSERT_GE(part.start, before);
      ASSERT_GT(part.end, part.start);
      ASSERT_LE(part.end, to);
      before = part.end;
      for (auto page = part.start; page < part.end; ++page) seen[page] = {true, part.kind, part.protection};
    }
    bool any = false;
    for (auto page = from; page < to; ++page) {
      ASSERT_EQ(seen[page].there, pages[page].there) << "step " << step << ", page " << page;
      ASSERT_EQ(seen[page].kind, pages[page].kind);
      ASSERT_EQ(seen[page].protection, pages[page].protection);
      any = any || pages[page].there;
    }
    ASSERT_EQ(ranges.overlaps(from, to), any);
  }
}

TEST(MappedRanges, Set_EqualNeighbours_AreMerged) {
  MappedRanges ranges;
  ranges.set({0, 10, Kind::mapping, 3});
  ranges.set({10, 20, Kind::mapping, 3});
  ranges.protect(5, 15, 1);
  EXPECT_EQ(ranges.within(0, 20).size(), 3U);
  ranges.protect(5, 15, 3);
  EXPECT_EQ(ranges.within(0, 20).size(), 1U);
}

}  // namespace
}  // namespace terrace::agent
