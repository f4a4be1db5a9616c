// Tests predicted against actual times of program segments with out-of-core memory in virtual time.
#include <gtest/gtest.h>

#include "file_memory.hpp"

namespace terrace::sim {
namespace {

// Returns predicted time over actual time, and the predicted share of the time, in the rounds from the third on.
struct Foretold {
  double error = 0, share = 0;
};
template <class Round>
Foretold foretold(FileWorld& world, const Round& round) {
  for (int i = 0; i < 3; ++i) round();
  const auto before = world.account();
  const auto begun = world.now();
  for (int i = 0; i < 8; ++i) round();
  const auto after = world.account();
  const auto measured = (after.measured - before.measured).value;
  return {(after.predicted - before.predicted).value / measured - 1, measured / (world.now() - begun)};
}

TEST(VirtualSpill, SweepLimitedByTheDisk_TimeIsPredicted) {
  FileWorld world(96);
  const auto array = world.add(192);
  const auto told = foretold(world, [&] { world.read(array); });
  EXPECT_NEAR(told.error, 0, 0.04);
  EXPECT_GT(told.share, 0.8);
}

TEST(VirtualSpill, SweepLimitedByTheCore_TimeIsPredicted) {
  FileChoice fast;
  fast.read = fast.write = 8e9;
  fast.instruction_ns = 1;
  FileWorld world(128, fast);
  const auto array = world.add(192);
  const auto told = foretold(world, [&] { world.read(array); });
  EXPECT_NEAR(told.error, 0, 0.04);
  EXPECT_GT(told.share, 0.8);
}

// A multigrid cycle over three arrays: each alone, in pairs, and all together; some are written.
TEST(VirtualSpill, CycleOverSeveralArrays_TimeIsPredicted) {
  for (const std::uint32_t memory : {36, 60, 96}) {
    FileWorld world(memory);
    const auto a = world.add(40);
    const auto b = world.add(40);
    const auto c = world.add(40);
    const auto told = foretold(world, [&] {
      world.write(c);
      world.read(a);
      world.write(b);
      world.read(a);
      world.read(c);
      world.write(a);
    });
    EXPECT_NEAR(told.error, 0, 0.10) << "room for " << memory;
    EXPECT_GT(told.share, 0.7) << "room for " << memory;
  }
}

TEST(VirtualSpill, RandomAccesses_AreNotPredicted) {
  FileWorld world(64);
  const auto array = world.add(256);
  world.write(array);
  world.chase(array, 2000);
  EXPECT_EQ(world.account().measured.value, 0);
}

}  // namespace
}  // namespace terrace::sim
