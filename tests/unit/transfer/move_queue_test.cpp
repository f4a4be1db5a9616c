// Tests of the mover's tickets, order and ledger charges. All places share one node, so that every machine can run
// them: pages are not copied, all else is as usual. tests/guest moves between two nodes.
#include "transfer/move_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "core/error.hpp"
#include "memory/numa_node.hpp"
#include "move_queue_fixture.hpp"

namespace terrace::transfer {
namespace {

TEST_F(MoveQueueTest, Transfer_MovesChunkAndCharge) {
  start(4, 2);
  const auto ticket = mover_->submit({2, 0});
  mover_->wait(ticket);
  EXPECT_TRUE(mover_->done(ticket));
  EXPECT_EQ(place(2), 0);
  EXPECT_EQ(held(0), 1u);
  EXPECT_EQ(held(1), 3u);
  const auto results = mover_->completions();
  ASSERT_EQ(results.size(), 1u);
  const auto& one = results.front();
  EXPECT_EQ(one.ticket, ticket);
  EXPECT_EQ(one.chunk, 2u);
  EXPECT_EQ(one.from, 1);
  EXPECT_EQ(one.to, 0);
  EXPECT_EQ(one.size, Bytes{k_chunk_size});
  EXPECT_FALSE(one.refused);
  EXPECT_EQ(one.error, 0);
  EXPECT_LT(one.asked, one.begun);
  EXPECT_LT(one.begun, one.done);
  EXPECT_TRUE(mover_->completions().empty()) << "each result comes once";
}

TEST_F(MoveQueueTest, Transfers_CompleteInRequestOrder) {
  start(64, 64);
  std::vector<Ticket> asked;
  for (int round = 0; round < 4; ++round)
    for (ChunkId chunk = 0; chunk < 64; ++chunk)
      asked.push_back(mover_->submit({chunk, static_cast<PlaceId>((chunk + round) % 2)}));
  mover_->wait(asked.back());
  for (const auto ticket : asked) EXPECT_TRUE(mover_->done(ticket));
  std::vector<Ticket> ended;
  Seconds last;
  for (const auto& result : mover_->completions()) {
    ended.push_back(result.ticket);
    EXPECT_LE(last, result.done);
    last = result.done;
  }
  EXPECT_EQ(ended, asked);
  for (ChunkId chunk = 0; chunk < 64; ++chunk) EXPECT_EQ(place(chunk), (chunk + 3) % 2);
  EXPECT_EQ(held(0), 32u);
  EXPECT_EQ(held(1), 32u);
}

TEST_F(MoveQueueTest, TargetFull_TransferIsRefusedAndNextBegins) {
  start(4, 2);
  Ticket last = 0;
  for (ChunkId chunk = 0; chunk < 4; ++chunk) last = mover_->submit({chunk, 0});
  mover_->wait(last);
  const auto results = mover_->completions();
  ASSERT_EQ(results.size(), 4u);
  for (const auto& result : results) {
    EXPECT_EQ(result.refused, result.chunk >= 2) << result.chunk;
    EXPECT_EQ(result.error, 0) << "it was the ledger, not the system";
    EXPECT_EQ(result.size.value, result.refused ? 0 : k_chunk_size);
    EXPECT_EQ(place(result.chunk), result.refused ? 1 : 0);
  }
  EXPECT_EQ(held(0), 2u);
  EXPECT_EQ(held(1), 2u);
}

TEST_F(MoveQueueTest, PromotionAfterDemotion_FindsCapacity) {
  start(4, 1);
  mover_->wait(mover_->submit({0, 0}));
  mover_->completions();
  clock_.shut();
  const auto blocker = mover_->submit({3, 1});
  clock_.await_arrival();
  mover_->submit({0, 1});
  mover_->submit({1, 0});
  mover_->submit({1, 1});
  mover_->submit({2, 0});
  clock_.open();
  mover_->wait(blocker + 4);
  for (const auto& result : mover_->completions()) EXPECT_FALSE(result.refused) << result.ticket;
  EXPECT_EQ(place(2), 0);
  EXPECT_EQ(held(0), 1u);
}

TEST_F(MoveQueueTest, SamePlace_IsDoneImmediately) {
  start(1, 1);
  const auto ticket = mover_->submit({0, 1});
  mover_->wait(ticket);
  const auto results = mover_->completions();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].size, Bytes{0}) << "nothing changed its place";
  EXPECT_FALSE(results[0].refused);
  EXPECT_EQ(held(1), 1u);
}

TEST_F(MoveQueueTest, SystemRefusal_ChunkAndChargesUnchanged) {
  start(2, 2);
  const auto ticket = mover_->submit({0, 2});  // its node does not exist
  mover_->wait(ticket);
  const auto results = mover_->completions();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_TRUE(results[0].refused);
  EXPECT_EQ(results[0].error, EINVAL);
  EXPECT_EQ(results[0].size, Bytes{0});
  EXPECT_EQ(place(0), 1);
  EXPECT_EQ(held(2), 0u);
  EXPECT_EQ(held(1), 2u);
  EXPECT_EQ(*map_->page(0), 1);
}

TEST_F(MoveQueueTest, UnmappedMemory_IsRefused) {
  start(2, 2);
  // Below mmap_min_addr: a range unmapped by the test could have been reused.
  const auto chunk = chunks_.add(k_page, k_chunk_size, 0, 0, k_no_place);
  mover_->wait(mover_->submit({chunk, 0}));
  const auto results = mover_->completions();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_TRUE(results[0].refused);
  EXPECT_EQ(results[0].error, EFAULT);
  EXPECT_EQ(place(chunk), k_no_place);
  EXPECT_EQ(held(0), 0u);
}

TEST_F(MoveQueueTest, UnmappedStack_MovesChargeOnly) {
  start(2, 2);
  // Like a stack that has not grown so far.
  const auto chunk = chunks_.add(k_page, k_chunk_size, 0, 0, 1);
  ASSERT_TRUE(ledger_->take(1, Bytes{k_chunk_size}));
  mover_->wait(mover_->submit({chunk, 0}));
  const auto results = mover_->completions();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_FALSE(results[0].refused);
  EXPECT_EQ(place(chunk), 0);
  EXPECT_EQ(held(0), 1u);
  EXPECT_EQ(held(1), 2u);
}

TEST_F(MoveQueueTest, UnknownPlace_Throws) {
  start(1, 1);
  EXPECT_THROW(mover_->submit({0, 3}), Error);
  EXPECT_THROW(mover_->submit({0, k_no_place}), Error);
  EXPECT_TRUE(mover_->done(1000)) << "a ticket that was never given is nothing to wait for";
}

TEST_F(MoveQueueTest, Forget_QueuedTransfer_IsRefused) {
  start(8, 8);
  clock_.shut();
  const auto begun = mover_->submit({7, 0});
  clock_.await_arrival();
  std::vector<Ticket> tickets;
  for (ChunkId chunk = 0; chunk < 6; ++chunk) tickets.push_back(mover_->submit({chunk, 0}));
  for (const auto ticket : tickets) EXPECT_FALSE(mover_->done(ticket));
  mover_->forget(2, 3);
  for (std::size_t i = 0; i < tickets.size(); ++i) EXPECT_EQ(mover_->done(tickets[i]), i >= 2 && i < 5) << i;
  EXPECT_FALSE(mover_->done(begun));
  mover_->wait(tickets[3]);  // refused: must return at once
  clock_.open();
  mover_->wait(tickets.back());
  std::set<ChunkId> moved;
  std::set<ChunkId> given_up;
  for (const auto& result : mover_->completions()) (result.refused ? given_up : moved).insert(result.chunk);
  EXPECT_EQ(moved, (std::set<ChunkId>{0, 1, 5, 7}));
  EXPECT_EQ(given_up, (std::set<ChunkId>{2, 3, 4}));
  EXPECT_EQ(held(0), 4u);
}

// A promotion that relies on a demotion's capacity also finds it if the demoted data are freed instead.
TEST_F(MoveQueueTest, Forget_ReleasesCharges) {
  start(8, 1);
  mover_->wait(mover_->submit({0, 0}));
  clock_.shut();
  mover_->submit({7, 1});
  clock_.await_arrival();
  mover_->submit({0, 1});
  const auto in = mover_->submit({1, 0});
  mover_->forget(0, 1);
  EXPECT_EQ(place(0), k_no_place);
  EXPECT_EQ(held(0), 0u);
  clock_.open();
  mover_->wait(in);
  EXPECT_EQ(place(1), 0);
  EXPECT_EQ(held(0), 1u);
}

TEST_F(MoveQueueTest, Forget_TransferInProgress_Waits) {
  start(2, 2);
  clock_.shut();
  const auto ticket = mover_->submit({1, 0});
  clock_.await_arrival();
  std::atomic<bool> returned{false};
  std::thread freeing([&] {
    mover_->forget(0, 2);
    returned = true;
  });
  // It can return before the gate opens only if it did not wait.
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  EXPECT_FALSE(returned.load());
  clock_.open();
  freeing.join();
  EXPECT_TRUE(mover_->done(ticket));
  EXPECT_EQ(mover_->completions().size(), 1u) << "it was done, so it is told";
}

TEST_F(MoveQueueTest, SmallChunksInSequence_FormAGroup) {
  start(200, 200);
  clock_.shut();
  mover_->submit({199, 0});
  clock_.await_arrival();
  Ticket last = 0;
  for (ChunkId chunk = 0; chunk < 130; ++chunk) last = mover_->submit({chunk, 0});
  last = mover_->submit({5, 1});
  clock_.open();
  mover_->wait(last);
  std::map<double, std::vector<ChunkId>> groups;
  for (const auto& result : mover_->completions()) groups[result.begun.value].push_back(result.chunk);
  // 128 chunks of 16 KiB are 512 pages, one group; the opposite direction is another group.
  std::vector<std::size_t> sizes;
  sizes.reserve(groups.size());
  for (const auto& [begun, chunks] : groups) sizes.push_back(chunks.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1, 128, 2, 1}));
  EXPECT_EQ(place(5), 1);
  std::uint64_t on_fast = 0;
  for (ChunkId chunk = 0; chunk < 200; ++chunk) on_fast += place(chunk) == 0;
  EXPECT_EQ(on_fast, 130u);
  mover_.reset();  // and frees its cached slots
  EXPECT_EQ(held(0), 130u);
}

TEST_F(MoveQueueTest, Group_ContainsAChunkOnce) {
  start(2, 1);
  clock_.shut();
  mover_->submit({1, 1});
  clock_.await_arrival();
  const auto first = mover_->submit({0, 0});
  const auto second = mover_->submit({0, 0});
  clock_.open();
  mover_->wait(second);
  const auto results = mover_->completions();
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[1].ticket, first);
  EXPECT_EQ(results[1].size, Bytes{k_chunk_size});
  EXPECT_EQ(results[2].size, Bytes{0}) << "it lay there already";
  EXPECT_FALSE(results[2].refused) << "its room was not asked for twice";
  EXPECT_EQ(held(0), 1u);
}

TEST_F(MoveQueueTest, LargeChunk_IsMovedInSeveralCalls) {
  start(1, 1);
  constexpr std::size_t k_pages = 3 * memory::k_page_batch + 5;
  const Mapping big(k_pages * k_page);
  big.touch(0, k_pages);
  ledger_ = std::make_unique<memory::Ledger>(page_, machine::Budget{{1ULL << 30}, {1ULL << 30}, {0}});
  mover_ = std::make_unique<MoveQueue>(*machine_, chunks_, *ledger_, clock_);
  const auto chunk = chunks_.add(big.address(), k_pages * k_page, 0, 0, k_no_place);
  mover_->wait(mover_->submit({chunk, 0}));
  const auto results = mover_->completions();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].size.value, k_pages * k_page);
  EXPECT_EQ(place(chunk), 0);
  for (std::size_t i = 0; i < k_pages; i += 97) ASSERT_EQ(*big.page(i), static_cast<unsigned char>(i + 1));
}

// Each transfer, by the clock, takes a second; at half speed the mover then pauses, for at most a tenth of a
// second.
TEST_F(MoveQueueTest, RateLimit_PausesBetweenTransfers) {
  start(8, 8);
  mover_->limit_rate(0.5);
  const auto begun = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::steady_clock::now() - begun; };
  Ticket last = 0;
  for (ChunkId chunk = 0; chunk < 4; ++chunk) last = mover_->submit({chunk, static_cast<PlaceId>(chunk % 2)});
  while (!mover_->done(last)) std::this_thread::yield();
  EXPECT_GE(passed(), std::chrono::milliseconds(290)) << "after each but the last";
  EXPECT_EQ(place(0), 0);
}

TEST_F(MoveQueueTest, RateLimit_WaitingThread_IsIgnored) {
  start(8, 8);
  mover_->limit_rate(0.5);
  const auto begun = std::chrono::steady_clock::now();
  Ticket last = 0;
  for (int round = 0; round < 300; ++round)
    last = mover_->submit({static_cast<ChunkId>(round % 8), static_cast<PlaceId>(round % 2)});
  mover_->wait(last);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20)) << "30 s with rests";
}

// Returns the number of this process's threads by /proc.
int threads_of_ours() {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    count += name.starts_with("terrace/") ? 1 : 0;
  }
  return count;
}

TEST_F(MoveQueueTest, End_LeavesNoThread) {
  start(4, 4);
  mover_->wait(mover_->submit({0, 0}));
  EXPECT_GT(threads_of_ours(), 0);
  mover_->end();
  EXPECT_EQ(threads_of_ours(), 0);
  EXPECT_EQ(place(0), 0);
}

TEST_F(MoveQueueTest, Destructor_QueuedTransfers_DoNotBegin) {
  start(32, 32);
  clock_.shut();
  mover_->submit({0, 0});
  clock_.await_arrival();
  for (ChunkId chunk = 1; chunk < 32; ++chunk) mover_->submit({chunk, chunk % 2 == 0 ? PlaceId{0} : PlaceId{1}});
  std::thread opener([&] { clock_.open(); });
  mover_.reset();
  opener.join();
  EXPECT_EQ(place(0), 0) << "what has begun is finished";
  EXPECT_LE(held(0), 17u);
}

}  // namespace
}  // namespace terrace::transfer
