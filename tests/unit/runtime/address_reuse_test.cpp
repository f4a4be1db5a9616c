// Which memory a block stands for that is made where others were made and given back.
#include "runtime/address_reuse.hpp"

#include <gtest/gtest.h>

namespace terrace::runtime {
namespace {

TEST(AddressReuse, WhatComesAgainStandsForWhatHasGone) {
  AddressReuse memory;
  EXPECT_EQ(memory.on_alloc("a", 1000, Bytes{100}), 1000u);
  EXPECT_EQ(memory.on_alloc("a", 2000, Bytes{100}), 2000u) << "the first one is still there";
  memory.on_free("a", 1000, Bytes{100});
  EXPECT_EQ(memory.on_alloc("b", 3000, Bytes{100}), 3000u) << "another name";
  EXPECT_EQ(memory.on_alloc("a", 4000, Bytes{120}), 1000u);
  EXPECT_EQ(memory.on_alloc("a", 5000, Bytes{100}), 5000u) << "it stands for one only";
  // What stood for another is stood for as that one.
  memory.on_free("a", 1000, Bytes{120});
  EXPECT_EQ(memory.on_alloc("a", 6000, Bytes{100}), 1000u);
}

TEST(AddressReuse, SizesAreAlikeToAFactorOfTwo) {
  AddressReuse memory;
  memory.on_free("a", 1000, Bytes{400});
  memory.on_free("a", 2000, Bytes{100});
  EXPECT_EQ(memory.on_alloc("a", 3000, Bytes{800}), 1000u);
  EXPECT_EQ(memory.on_alloc("a", 4000, Bytes{201}), 4000u);
  EXPECT_EQ(memory.on_alloc("a", 5000, Bytes{49}), 5000u);
  EXPECT_EQ(memory.on_alloc("a", 6000, Bytes{50}), 2000u);
}

// A turn that makes blocks in one order and gives them back in the other has the same ones again.
TEST(AddressReuse, TheLastThatHasGoneComesFirst) {
  AddressReuse memory;
  for (int turn = 0; turn < 3; ++turn) {
    const auto at = [&](std::uint64_t n) { return 1000 * n + 100000 * static_cast<std::uint64_t>(turn); };
    for (std::uint64_t n = 1; n <= 3; ++n) EXPECT_EQ(memory.on_alloc("level", at(n), Bytes{4096}), 1000 * n);
    for (std::uint64_t n = 3; n >= 1; --n) memory.on_free("level", 1000 * n, Bytes{4096});
  }
}

}  // namespace
}  // namespace terrace::runtime
