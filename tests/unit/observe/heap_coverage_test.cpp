// Compares the coverage of the heap with sums by hand.
#include "observe/coverage/heap_coverage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace terrace::observe {
namespace {

constexpr std::uint64_t k_chunk = 65536;

class HeapReachTest : public ::testing::Test {
 protected:
  // Adds an object with the next chunks. They are resident unless they are in `untouched_`.
  void add(ObjectId id, std::uint64_t chunks, ObjectKind kind = ObjectKind::heap) {
    Object object;
    object.id = id;
    object.kind = kind;
    object.size = Bytes{chunks * k_chunk};
    object.chunk_size = Bytes{k_chunk};
    object.first_chunk = next_;
    object.chunks = static_cast<std::uint32_t>(chunks);
    next_ += object.chunks;
    coverage_.on_object_added(object, object.first_chunk * k_chunk);
  }
  void access(const std::vector<ChunkId>& chunks) {
    std::vector<observe::Miss> misses;
    misses.reserve(chunks.size());
    for (const auto chunk : chunks) misses.push_back({chunk, 0, 0, observe::MissKind::prefetched});
    observe::Quantum quantum;
    quantum.misses = misses;
    coverage_.quantum(quantum);
  }

  std::set<std::uint64_t> untouched_;
  double now_ = 0;
  HeapCoverage coverage_{[this](std::uint64_t low, std::uint64_t high) {
                           return untouched_.contains(low / k_chunk) ? Bytes{0} : Bytes{high - low};
                         },
                         [this] { return Seconds{now_}; }};

 private:
  ChunkId next_ = 0;
};

TEST_F(HeapReachTest, UntracedChunks_AreUncovered) {
  add(0, 4);  // chunks 0 to 3
  add(1, 2);  // 4 and 5
  add(2, 8, ObjectKind::stack);
  access({0, 1, 3});
  untouched_ = {5};
  now_ = 2;
  const auto share = coverage_.share();
  EXPECT_EQ(share.bytes, 5 * k_chunk);  // without untouched memory
  EXPECT_EQ(share.uncovered, 2 * k_chunk);
  ASSERT_EQ(share.objects.size(), 2U);
  for (const auto& object : share.objects) EXPECT_EQ(object.size.value, k_chunk);
}

TEST_F(HeapReachTest, Unobserved_TimeIsNotCounted) {
  add(0, 1);
  access({0});
  now_ = 2;
  coverage_.set_observed(false);
  add(1, 3);  // comes and goes unseen
  now_ = 5;
  coverage_.on_object_removed(1);
  add(2, 1);  // stays, and is seen later
  now_ = 7;
  coverage_.set_observed(true);
  access({4});
  now_ = 9;
  const auto share = coverage_.share();
  EXPECT_DOUBLE_EQ(share.bytes, k_chunk * (4 + 2) / 4.0);
  EXPECT_EQ(share.uncovered, 0);
  EXPECT_TRUE(share.objects.empty());
}

TEST_F(HeapReachTest, Lifetimes_WeightTheMean) {
  add(0, 1);
  access({0});
  now_ = 3;
  add(1, 3);  // lives for 1 of 4 seconds
  now_ = 4;
  coverage_.on_object_removed(1);
  coverage_.on_object_removed(1);  // known no more
  const auto share = coverage_.share();
  EXPECT_DOUBLE_EQ(share.bytes, k_chunk * (1 + 3.0 / 4));
  EXPECT_DOUBLE_EQ(share.uncovered, k_chunk * 3.0 / 4);
}

TEST_F(HeapReachTest, MainLoop_OnlyLoopTimeCounts) {
  add(0, 100);  // gone when the loop begins
  now_ = 10;
  coverage_.on_object_removed(0);
  EXPECT_EQ(coverage_.share().uncovered, 100 * k_chunk);
  add(1, 1);
  add(2, 1);
  access({100});
  coverage_.set_in_loop(true);
  now_ = 11;
  coverage_.set_in_loop(false);
  now_ = 20;
  const auto share = coverage_.share();
  EXPECT_DOUBLE_EQ(share.bytes, 2 * k_chunk);
  EXPECT_DOUBLE_EQ(share.uncovered, k_chunk);
  ASSERT_EQ(share.objects.size(), 1U);
  EXPECT_EQ(share.objects[0].object, 2U);
}

TEST_F(HeapReachTest, ManyObjects_LargestAreNamed) {
  for (ObjectId id = 0; id < 40; ++id) add(id, 1 + (id * 7) % 40);
  now_ = 1;
  const auto share = coverage_.share();
  ASSERT_EQ(share.objects.size(), HeapCoverage::k_max_objects);
  EXPECT_EQ(share.objects[0].size.value, 40 * k_chunk);
  EXPECT_TRUE(std::ranges::is_sorted(share.objects, std::ranges::greater{},
                                     [](const UncoveredObject& object) { return object.size.value; }));
}

TEST_F(HeapReachTest, NoObjects_ShareIsZero) {
  EXPECT_EQ(coverage_.share().bytes, 0);
  now_ = 1;
  EXPECT_EQ(coverage_.share().bytes, 0);
  EXPECT_TRUE(coverage_.share().objects.empty());
}

}  // namespace
}  // namespace terrace::observe
