// Chunks that are exchanged by the queue: content, account, and room that is there when somebody needs it.
#include <gtest/gtest.h>

#include "move_queue_fixture.hpp"
#include "transfer/exchange/userfault.hpp"

namespace terrace::transfer {
namespace {

constexpr std::uint32_t k_large = k_huge_page;
constexpr std::uint32_t k_count = 12;

class NumaSwapTest : public ::testing::Test {
 protected:
  // Large chunks on place 1, of which the budget of place 0 holds `fast`; both places are one node.
  void start(std::uint64_t fast, std::uint64_t slow = 1000) {
    if (!Userfault().is_there()) GTEST_SKIP() << "this system does not let pages be moved";
    machine_ = std::make_unique<machine::Machine>(tests::machine_on({0, 0}));
    map_ = std::make_unique<Mapping>(std::size_t{k_count} * k_large, k_huge_page);
    map_->touch(0, std::size_t{k_count} * k_large / k_page);
    machine::Budget budget{Bytes{fast * k_large}, Bytes{slow * k_large}};
    ledger_ = std::make_unique<memory::Ledger>(page_, budget);
    for (std::uint32_t i = 0; i < k_count; ++i) {
      chunks_.add(map_->address(std::size_t{i} * k_large / k_page), k_large, 0, 0, 1);
      ASSERT_TRUE(ledger_->take(1, Bytes{k_large}));
    }
    mover_ = std::make_unique<MoveQueue>(*machine_, chunks_, *ledger_, clock_);
  }
  void TearDown() override { clock_.open(); }
  TransferResult move(ChunkId chunk, PlaceId to) {
    mover_->wait(mover_->submit({chunk, to}));
    return mover_->completions().back();
  }
  void expect_content() {
    for (std::size_t i = 0; i < std::size_t{k_count} * k_large / k_page; ++i)
      ASSERT_EQ(*map_->page(i), static_cast<unsigned char>(i + 1)) << i;
  }
  std::uint64_t held(PlaceId where) { return ledger_->held(where).value / k_large; }

  GatedClock clock_;
  memory::LedgerPage page_{};
  memory::ChunkTable chunks_;
  std::unique_ptr<machine::Machine> machine_;
  std::unique_ptr<Mapping> map_;
  std::unique_ptr<memory::Ledger> ledger_;
  std::unique_ptr<MoveQueue> mover_;
};

TEST_F(NumaSwapTest, LargeChunksKeepTheirContent) {
  start(k_count);
  for (int round = 0; round < 3; ++round)
    for (ChunkId chunk = 0; chunk < k_count; ++chunk) {
      const auto result = move(chunk, static_cast<PlaceId>(round % 2));
      ASSERT_FALSE(result.refused);
      ASSERT_EQ(result.size, Bytes{k_large});
    }
  expect_content();
}

// What slots keep is never in the way of a chunk: the fast place holds three of them.
TEST_F(NumaSwapTest, ABudgetCanBeFilledWithChunks) {
  start(3);
  for (int round = 0; round < 4; ++round) {
    for (ChunkId chunk = 0; chunk < 3; ++chunk) ASSERT_FALSE(move(chunk, 0).refused) << round;
    EXPECT_EQ(held(0), 3U);
    EXPECT_TRUE(move(3, 0).refused);
    for (ChunkId chunk = 0; chunk < 3; ++chunk) ASSERT_FALSE(move(chunk, 1).refused) << round;
    EXPECT_LE(held(0), 3U);
  }
  expect_content();
}

TEST_F(NumaSwapTest, AccountAndChunksAgree) {
  start(100);
  for (ChunkId chunk = 0; chunk < k_count; ++chunk) ASSERT_FALSE(move(chunk, 0).refused);
  // The places are one node: what slots keep is on the first of them.
  EXPECT_GE(held(0), k_count);
  EXPECT_LE(held(0), k_count + 8U);
  EXPECT_EQ(held(1), 0U);
}

}  // namespace
}  // namespace terrace::transfer
