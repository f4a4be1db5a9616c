// Tests of transfers that are requested before they are due, on real memory. Time is a clock that counts its
// calls.
#include <chrono>
#include <functional>
#include <vector>

#include "move_queue_fixture.hpp"
#include "transfer/exchange/userfault.hpp"

namespace terrace::transfer {
namespace {

constexpr double k_far = 1e9;  // never reached by the counting clock

std::vector<ChunkId> chunks_of(const std::vector<TransferResult>& results) {
  std::vector<ChunkId> chunks;
  for (const auto& result : results) chunks.push_back(result.chunk);
  return chunks;
}

// The first transfer is due later; the second is due now and waits behind it. The test does not call wait(), which
// would make them due.
TEST_F(MoveQueueTest, TransferNotDue_DelaysQueue) {
  start(2, 2);
  constexpr double k_due = 200;
  mover_->submit({0, 0, {{k_due}}});
  mover_->submit({1, 0});
  std::vector<TransferResult> results;
  while (results.size() < 2) {
    mover_->limit_rate(1);  // wakes the mover, which reads the clock again
    for (const auto& result : mover_->completions()) results.push_back(result);
  }
  EXPECT_EQ(chunks_of(results), (std::vector<ChunkId>{0, 1}));
  for (const auto& result : results) EXPECT_GE(result.begun.value, k_due);
}

TEST_F(MoveQueueTest, ExpeditePending_BeginsAllInOrder) {
  start(4, 2);
  mover_->submit({0, 0, {k_never}});
  mover_->submit({1, 0, {{k_far}}});
  mover_->submit({0, 1, {{k_far}}});
  const auto last = mover_->submit({2, 0, {k_never}});
  EXPECT_FALSE(mover_->done(last));
  mover_->expedite_pending();
  std::vector<TransferResult> results;
  while (results.size() < 4)
    for (const auto& result : mover_->completions()) results.push_back(result);
  EXPECT_EQ(chunks_of(results), (std::vector<ChunkId>{0, 1, 0, 2}));
  for (const auto& result : results) EXPECT_FALSE(result.refused) << "the third made room for the fourth";
}

// Transfers behind the awaited one keep their start conditions.
TEST_F(MoveQueueTest, Wait_MakesTicketAndPredecessorsDue) {
  start(3, 3);
  mover_->submit({0, 0, {k_never}});
  const auto second = mover_->submit({1, 0, {{k_far}}});
  const auto third = mover_->submit({2, 0, {{k_far}}});
  mover_->wait(second);
  EXPECT_EQ(chunks_of(mover_->completions()), (std::vector<ChunkId>{0, 1}));
  EXPECT_FALSE(mover_->done(third));
}

TEST_F(MoveQueueTest, Forget_TransferNotDue_IsRefused) {
  start(2, 2);
  mover_->submit({0, 0, {k_never}});
  const auto second = mover_->submit({1, 0});
  mover_->forget(0, 1);
  mover_->wait(second);
  const auto results = mover_->completions();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(results[0].refused);
  EXPECT_EQ(place(1), 0);
}

// Transfers with different rates cannot share a group.
TEST_F(MoveQueueTest, TransfersOfDifferentRates_AreNotGrouped) {
  start(3, 3);
  clock_.shut();
  mover_->submit({2, 1});  // blocks the mover until all are queued
  clock_.await_arrival();
  mover_->submit({0, 0, {{}, 0.5}});
  mover_->submit({1, 0, {{}, 0.9}});
  mover_->submit({2, 0, {{}, 0.9}});
  clock_.open();
  std::vector<TransferResult> results;  // polls: wait() would end all rates
  while (results.size() < 4)
    for (const auto& result : mover_->completions()) results.push_back(result);
  EXPECT_LE(results[1].done, results[2].begun);
}

// --- sentinels ---

class SentinelQueueTest : public MoveQueueTest {
 protected:
  void start(std::uint32_t count, std::uint32_t fast) {
    if (!Userfault(0).is_available()) GTEST_SKIP() << "this system does not let pages be watched";
    MoveQueueTest::start(count, fast);
  }
  static TransferStart with(ChunkId sentinel) { return {k_never, 0, sentinel}; }
  // Returns which chunks are armed: their first pages are detached.
  bool is_aside(ChunkId chunk) { return tests::kernel_nodes(chunks_[chunk].address, 1).front() < 0; }
  void await(const std::function<bool()>& what) {
    for (int i = 0; i < 10'000 && !what(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_TRUE(what());
  }
  void touch(ChunkId chunk) { *reinterpret_cast<volatile char*>(chunks_[chunk].address + k_page) = 1; }
};

TEST_F(SentinelQueueTest, SentinelTouched_TransfersBegin) {
  start(6, 6);
  if (IsSkipped()) return;
  const auto first = mover_->submit({0, 0, with(4)});
  const auto second = mover_->submit({1, 0, with(5)});
  await([&] { return is_aside(4) && is_aside(5); });
  EXPECT_FALSE(mover_->done(first));
  touch(4);
  await([&] { return mover_->done(first); });
  EXPECT_FALSE(mover_->done(second));
  EXPECT_TRUE(is_aside(5));
  touch(5);
  await([&] { return mover_->done(second); });
  EXPECT_EQ(place(0), 0);
  EXPECT_EQ(place(1), 0);
}

// Earlier transfers become due as well, and their sentinels are disarmed.
TEST_F(SentinelQueueTest, LaterSentinelTouched_EarlierTransfersBegin) {
  start(6, 6);
  if (IsSkipped()) return;
  mover_->submit({0, 0, with(4)});
  const auto second = mover_->submit({1, 0, with(5)});
  await([&] { return is_aside(4) && is_aside(5); });
  touch(5);
  await([&] { return mover_->done(second) && !is_aside(4); });
}

TEST_F(SentinelQueueTest, AllDue_SentinelsAreDisarmed) {
  start(6, 6);
  if (IsSkipped()) return;
  const auto first = mover_->submit({0, 0, with(4)});
  await([&] { return is_aside(4); });
  mover_->expedite_pending();
  await([&] { return mover_->done(first) && !is_aside(4); });
}

// The sentinel is re-armed after its chunk has moved.
TEST_F(SentinelQueueTest, SentinelChunkMoves_IsRearmed) {
  start(6, 6);
  if (IsSkipped()) return;
  const std::vector<TransferRequest> both{{4, 0}, {0, 0, with(4)}};
  const auto last = mover_->submit(both) + 1;
  await([&] { return place(4) == 0 && is_aside(4); });
  EXPECT_FALSE(mover_->done(last));
  touch(4);
  await([&] { return mover_->done(last); });
}

// A late report of an earlier phase's touch does not start the next phase's transfers: their sentinel is
// untouched.
TEST_F(SentinelQueueTest, TouchOfEarlierEpoch_DoesNotBeginLaterTransfers) {
  start(6, 6);
  if (IsSkipped()) return;
  for (int round = 0; round < 300; ++round) {
    const auto to = static_cast<PlaceId>(round % 2);
    const auto first = mover_->submit({0, to, with(4)});
    await([&] { return is_aside(4) || mover_->done(first); });
    touch(4);
    mover_->expedite_pending();
    const auto next = mover_->submit({1, to, with(4)});
    await([&] { return is_aside(4) || mover_->done(next); });
    ASSERT_FALSE(mover_->done(next)) << "nobody has touched it in this phase; round " << round;
    touch(4);
    await([&] { return mover_->done(next); });
  }
}

// A freed chunk is no sentinel any more: its transfers use their fallback time.
TEST_F(SentinelQueueTest, ForgottenSentinel_PagesAreAttached) {
  start(6, 6);
  if (IsSkipped()) return;
  auto when = with(4);
  when.fallback_due = Seconds{1};
  const auto first = mover_->submit({0, 0, when});
  await([&] { return is_aside(4) || mover_->done(first); });
  mover_->forget(4, 1);
  EXPECT_FALSE(is_aside(4));
  await([&] { return mover_->done(first); });
}

}  // namespace
}  // namespace terrace::transfer
