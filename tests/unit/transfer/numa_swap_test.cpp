// Tests of the page-exchange copier through the queue: content, charges, and capacity of cached slots.
#include <gtest/gtest.h>

#include "move_queue_fixture.hpp"
#include "transfer/exchange/userfault.hpp"

namespace terrace::transfer {
namespace {

constexpr std::uint32_t k_large = k_huge_page;
constexpr std::uint32_t k_count = 12;

class NumaSwapTest : public MoveQueueTest {
 protected:
  // Both places are one node.
  void start(std::uint32_t fast) {
    if (!Userfault().is_available()) GTEST_SKIP() << "this system does not let pages be moved";
    MoveQueueTest::start(k_count, fast, {0, 0}, k_large);
  }
  TransferResult move(ChunkId chunk, PlaceId to) {
    mover_->wait(mover_->submit({chunk, to}));
    return mover_->completions().back();
  }
  void expect_content() {
    for (std::size_t i = 0; i < std::size_t{k_count} * k_large / k_page; ++i)
      ASSERT_EQ(*map_->page(i), static_cast<unsigned char>(i + 1)) << i;
  }
};

TEST_F(NumaSwapTest, LargeChunks_KeepContent) {
  start(k_count);
  if (IsSkipped()) return;
  for (int round = 0; round < 3; ++round)
    for (ChunkId chunk = 0; chunk < k_count; ++chunk) {
      const auto result = move(chunk, static_cast<PlaceId>(round % 2));
      ASSERT_FALSE(result.refused);
      ASSERT_EQ(result.size, Bytes{k_large});
    }
  expect_content();
}

// Cached slots never reduce the capacity for chunks: the fast place holds three of them.
TEST_F(NumaSwapTest, CachedSlots_DoNotReduceBudget) {
  start(3);
  if (IsSkipped()) return;
  for (int round = 0; round < 4; ++round) {
    for (ChunkId chunk = 0; chunk < 3; ++chunk) ASSERT_FALSE(move(chunk, 0).refused) << round;
    EXPECT_EQ(held(0), 3U);
    EXPECT_TRUE(move(3, 0).refused);
    for (ChunkId chunk = 0; chunk < 3; ++chunk) ASSERT_FALSE(move(chunk, 1).refused) << round;
    EXPECT_LE(held(0), 3U);
  }
  expect_content();
}

// Adjacent small chunks requested together are exchanged as one range; one with an untouched page does not prevent
// the others.
TEST_F(NumaSwapTest, AdjacentSmallChunks_AreExchangedTogether) {
  constexpr std::uint32_t k_small = 16 * k_page;
  if (!Userfault().is_available()) GTEST_SKIP() << "this system does not let pages be moved";
  MoveQueueTest::start(32, 100, {0, 0}, k_small);
  madvise(map_->page(20 * 16), k_page, MADV_DONTNEED);
  std::vector<TransferRequest> requests;
  for (int round = 0; round < 4; ++round) {
    requests.clear();
    for (ChunkId chunk = 0; chunk < 32; ++chunk) requests.push_back({chunk, static_cast<PlaceId>(round % 2)});
    const auto first = mover_->submit(requests);
    mover_->wait(first + requests.size() - 1);
    for (const auto& result : mover_->completions()) ASSERT_FALSE(result.refused);
    for (ChunkId chunk = 0; chunk < 32; ++chunk) ASSERT_EQ(place(chunk), round % 2);
  }
  for (std::size_t i = 0; i < 32 * 16; ++i)
    ASSERT_EQ(*map_->page(i), i == 20 * 16 ? 0 : static_cast<unsigned char>(i + 1)) << i;
}

TEST_F(NumaSwapTest, Exchanges_ChargesEqualChunks) {
  start(100);
  if (IsSkipped()) return;
  for (ChunkId chunk = 0; chunk < k_count; ++chunk) ASSERT_FALSE(move(chunk, 0).refused);
  // The places share one node: cached slots are charged to the first one.
  EXPECT_GE(held(0), k_count);
  EXPECT_LE(held(0), k_count + 8U);
  EXPECT_EQ(held(1), 0U);
}

}  // namespace
}  // namespace terrace::transfer
