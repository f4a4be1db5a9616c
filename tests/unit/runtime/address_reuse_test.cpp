// Tests which canonical address a reallocated object gets.
#include "runtime/address_reuse.hpp"

#include <gtest/gtest.h>

namespace terrace::runtime {
namespace {

TEST(AddressReuse, ReallocatedObject_SameName_GetsTheFreedAddress) {
  AddressReuse memory;
  EXPECT_EQ(memory.on_alloc("a", 1000, Bytes{100}), 1000u);
  EXPECT_EQ(memory.on_alloc("a", 2000, Bytes{100}), 2000u) << "the first one is still there";
  memory.on_free("a", 1000, Bytes{100});
  EXPECT_EQ(memory.on_alloc("b", 3000, Bytes{100}), 3000u) << "another name";
  EXPECT_EQ(memory.on_alloc("a", 4000, Bytes{120}), 1000u);
  EXPECT_EQ(memory.on_alloc("a", 5000, Bytes{100}), 5000u) << "it stands for one only";
  // A replaced object is represented by the same address as the one it replaced.
  memory.on_free("a", 1000, Bytes{120});
  EXPECT_EQ(memory.on_alloc("a", 6000, Bytes{100}), 1000u);
}

TEST(AddressReuse, SizesWithinAFactorOfTwo_Match) {
  AddressReuse memory;
  memory.on_free("a", 1000, Bytes{400});
  memory.on_free("a", 2000, Bytes{100});
  EXPECT_EQ(memory.on_alloc("a", 3000, Bytes{800}), 1000u);
  EXPECT_EQ(memory.on_alloc("a", 4000, Bytes{201}), 4000u);
  EXPECT_EQ(memory.on_alloc("a", 5000, Bytes{49}), 5000u);
  EXPECT_EQ(memory.on_alloc("a", 6000, Bytes{50}), 2000u);
}

// An iteration that allocates in one order and frees in the reverse order gets the same addresses again.
TEST(AddressReuse, FreedInReverseOrder_ReusesLastInFirstOut) {
  AddressReuse memory;
  for (int turn = 0; turn < 3; ++turn) {
    const auto at = [&](std::uint64_t n) { return 1000 * n + 100000 * static_cast<std::uint64_t>(turn); };
    for (std::uint64_t n = 1; n <= 3; ++n) EXPECT_EQ(memory.on_alloc("level", at(n), Bytes{4096}), 1000 * n);
    for (std::uint64_t n = 3; n >= 1; --n) memory.on_free("level", 1000 * n, Bytes{4096});
  }
}

}  // namespace
}  // namespace terrace::runtime
