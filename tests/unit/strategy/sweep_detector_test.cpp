// Tests that sweeps are predicted, upwards and downwards, slow and fast, and that random uses are not.
#include "strategy/learning/sweep_detector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace terrace::strategy {
namespace {

// Two objects of 20 chunks each.
struct Objects {
  Objects() {
    for (ChunkId i = 0; i < 40; ++i) chunks.add(0, 65536, i / 20, 0, 1);
  }
  std::vector<ChunkId> next_after(const std::vector<ChunkId>& used) {
    std::vector<SweepDetector::Use> uses;
    uses.reserve(used.size());
    for (const auto chunk : used) uses.push_back({chunk, 1e-6, 1});
    sweeps.on_segment(uses, chunks);
    std::vector<ChunkId> next;
    for (const auto& use : sweeps.next()) next.push_back(use.chunk);
    return next;
  }

  memory::ChunkTable chunks;
  SweepDetector sweeps;
};

using Chunks = std::vector<ChunkId>;

TEST(SweepDetector, UpwardSweep_IsPredicted) {
  Objects of;
  EXPECT_EQ(of.next_after({3}), Chunks{});
  EXPECT_EQ(of.next_after({4}), (Chunks{5, 6}));
  EXPECT_EQ(of.next_after({4}), Chunks{});
  EXPECT_EQ(of.next_after({4, 5}), (Chunks{6, 7}));
}

TEST(SweepDetector, DownwardSweep_IsPredicted) {
  Objects of;
  EXPECT_EQ(of.next_after({17}), Chunks{});
  EXPECT_EQ(of.next_after({16, 17}), (Chunks{15, 14}));
}

// Three chunks per segment: prefetches for the segment that has begun would be too late.
TEST(SweepDetector, SeveralChunksPerSegment_SkipsLateOnes) {
  Objects of;
  EXPECT_EQ(of.next_after({0, 1, 2}), Chunks{});
  EXPECT_EQ(of.next_after({3, 4, 5}), (Chunks{9, 10, 11}));
}

TEST(SweepDetector, ConcurrentSweeps_ArePredicted) {
  Objects of;
  EXPECT_EQ(of.next_after({2, 30}), Chunks{});
  EXPECT_EQ(of.next_after({3, 29}), (Chunks{4, 5, 28, 27}));
}

TEST(SweepDetector, EndOfObject_EndsPrediction) {
  Objects of;
  of.next_after({17});
  EXPECT_EQ(of.next_after({18}), Chunks{19});
  EXPECT_EQ(of.next_after({19}), Chunks{});
  EXPECT_EQ(of.next_after({20}), Chunks{});  // another object, without accesses
  of.next_after({1});
  EXPECT_EQ(of.next_after({0}), Chunks{});
}

TEST(SweepDetector, NextChunk_HasGainAndLengthOfTheLast) {
  Objects of;
  for (int segment = 0; segment < 4; ++segment) of.next_after({7});
  of.next_after({7, 8});
  ASSERT_EQ(of.sweeps.next().size(), 2U);
  EXPECT_NEAR(of.sweeps.next()[0].gain, 5e-6, 1e-12);
  EXPECT_EQ(of.sweeps.next()[0].segments, 5U);
}

// Random uses of an object are no sweep: of 10,000 uses of 20 chunks less than one in ten is predicted.
TEST(SweepDetector, RandomUses_PredictFewChunks) {
  Objects of;
  std::mt19937 random(3);
  std::size_t foretold = 0;
  for (int segment = 0; segment < 1000; ++segment) {
    Chunks used;
    for (ChunkId chunk = 0; chunk < 20; ++chunk)
      if (random() % 2 == 0) used.push_back(chunk);
    foretold += of.next_after(used).size();
  }
  EXPECT_LT(foretold, 10000U / 10);
}

// For any uses, predicted chunks belong to an object in use, and are not in use themselves.
TEST(SweepDetector, AnyUses_PredictsExistingChunks) {
  std::mt19937 random(5);
  for (int n = 0; n < 100; ++n) {
    Objects of;
    for (int segment = 0; segment < 50; ++segment) {
      Chunks used;
      for (ChunkId chunk = static_cast<ChunkId>(random() % 3); chunk < 40;
           chunk += static_cast<ChunkId>(1 + random() % 9))
        used.push_back(chunk);
      for (const auto chunk : of.next_after(used)) {
        ASSERT_LT(chunk, 40U);
        EXPECT_FALSE(of.sweeps.in_use(chunk));
        EXPECT_TRUE(std::any_of(used.begin(), used.end(), [&](ChunkId u) { return u / 20 == chunk / 20; }));
      }
    }
  }
}

}  // namespace
}  // namespace terrace::strategy
