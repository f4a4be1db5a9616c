// Which memory a block stands for that is made where others were made and given back.
#include "runtime/recurring.hpp"

#include <gtest/gtest.h>

namespace terrace::runtime {
namespace {

TEST(Recurring, WhatComesAgainStandsForWhatHasGone) {
  Recurring memory;
  EXPECT_EQ(memory.come("a", 1000, Bytes{100}), 1000u);
  EXPECT_EQ(memory.come("a", 2000, Bytes{100}), 2000u) << "the first one is still there";
  memory.go("a", 1000, Bytes{100});
  EXPECT_EQ(memory.come("b", 3000, Bytes{100}), 3000u) << "another name";
  EXPECT_EQ(memory.come("a", 4000, Bytes{120}), 1000u);
  EXPECT_EQ(memory.come("a", 5000, Bytes{100}), 5000u) << "it stands for one only";
  // What stood for another is stood for as that one.
  memory.go("a", 1000, Bytes{120});
  EXPECT_EQ(memory.come("a", 6000, Bytes{100}), 1000u);
}

TEST(Recurring, SizesAreAlikeToAFactorOfTwo) {
  Recurring memory;
  memory.go("a", 1000, Bytes{400});
  memory.go("a", 2000, Bytes{100});
  EXPECT_EQ(memory.come("a", 3000, Bytes{800}), 1000u);
  EXPECT_EQ(memory.come("a", 4000, Bytes{201}), 4000u);
  EXPECT_EQ(memory.come("a", 5000, Bytes{49}), 5000u);
  EXPECT_EQ(memory.come("a", 6000, Bytes{50}), 2000u);
}

// A turn that makes blocks in one order and gives them back in the other has the same ones again.
TEST(Recurring, TheLastThatHasGoneComesFirst) {
  Recurring memory;
  for (int turn = 0; turn < 3; ++turn) {
    const auto at = [&](std::uint64_t n) { return 1000 * n + 100000 * static_cast<std::uint64_t>(turn); };
    for (std::uint64_t n = 1; n <= 3; ++n) EXPECT_EQ(memory.come("level", at(n), Bytes{4096}), 1000 * n);
    for (std::uint64_t n = 3; n >= 1; --n) memory.go("level", 1000 * n, Bytes{4096});
  }
}

}  // namespace
}  // namespace terrace::runtime
