// Tests of the mover with concurrent callers.
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "move_queue_fixture.hpp"

namespace terrace::transfer {
namespace {

// Several threads submit, wait, forget and collect completions while another one checks the ledger.
TEST_F(MoveQueueTest, ConcurrentThreads_OrderAndChargesHold) {
  constexpr std::uint32_t k_chunks = 96;
  constexpr std::uint32_t k_fast = 20;
  constexpr int k_steps = 400;
  start(k_chunks, k_fast);
  std::mutex table;  // as in the runtime: serialises additions of chunks and requests, but not the mover
  std::mutex mutex;  // guards the tickets
  std::set<Ticket> open;
  std::set<Ticket> forgotten;
  std::set<ChunkId> gone;
  std::vector<TransferResult> collected;
  std::atomic<bool> stop{false};
  std::atomic<int> over{0};
  std::thread watcher([&] {
    while (!stop) over += held(0) > k_fast;
  });
  // Each thread owns a third of the chunks, as an object has one owner; the table grows concurrently.
  const auto work = [&](unsigned number) {
    std::mt19937 random(number);
    std::vector<ChunkId> owned(k_chunks / 3);
    std::iota(owned.begin(), owned.end(), number * (k_chunks / 3));
    std::map<Ticket, ChunkId> mine;
    for (int step = 0; step < k_steps; ++step) {
      std::swap(owned[random() % owned.size()], owned.back());
      const auto chunk = owned.back();
      switch (random() % 8) {
        case 0: {
          if (owned.size() == 1 || random() % 4 != 0) break;
          owned.pop_back();
          {
            const std::lock_guard turn(table);
            mover_->forget(chunk, 1);
          }
          const std::lock_guard lock(mutex);
          gone.insert(chunk);
          for (const auto& [ticket, of] : mine)
            if (of == chunk) forgotten.insert(ticket);
          break;
        }
        case 1:
          if (!mine.empty()) {
            mover_->wait(mine.rbegin()->first);
            EXPECT_TRUE(mover_->done(mine.rbegin()->first));
          }
          break;
        case 2: {
          const std::lock_guard lock(mutex);
          for (const auto& result : mover_->completions()) collected.push_back(result);
          break;
        }
        default: {
          const std::lock_guard turn(table);
          const auto ticket = mover_->submit({chunk, static_cast<PlaceId>(random() % 2)});
          mine[ticket] = chunk;
          const std::lock_guard lock(mutex);
          open.insert(ticket);
        }
      }
    }
    if (!mine.empty()) mover_->wait(mine.rbegin()->first);
  };
  std::thread grow([&] {
    for (int i = 0; i < 2000; ++i) {
      const std::lock_guard turn(table);
      chunks_.add(map_->address(), k_page, 1, 0, k_no_place);
    }
  });
  std::thread a(work, 0), b(work, 1), c(work, 2);
  for (auto* thread : {&a, &b, &c, &grow}) thread->join();
  stop = true;
  watcher.join();
  for (const auto& result : mover_->completions()) collected.push_back(result);
  EXPECT_EQ(over.load(), 0);
  std::set<Ticket> told;
  std::map<ChunkId, PlaceId> last;
  for (ChunkId chunk = 0; chunk < k_chunks; ++chunk) last[chunk] = 1;
  Ticket before = 0;
  for (const auto& result : collected) {
    EXPECT_TRUE(told.insert(result.ticket).second);
    if (result.refused && forgotten.contains(result.ticket)) continue;
    EXPECT_LT(before, result.ticket) << "results come in the order of the asking";
    before = result.ticket;
    EXPECT_EQ(result.from, last[result.chunk]);
    if (!result.refused) last[result.chunk] = result.to;
  }
  for (const auto ticket : open) EXPECT_TRUE(told.contains(ticket)) << ticket;
  std::uint64_t on_fast = 0;
  for (ChunkId chunk = 0; chunk < k_chunks; ++chunk) {
    if (gone.contains(chunk)) last[chunk] = k_no_place;
    EXPECT_EQ(place(chunk), last[chunk]);
    on_fast += last[chunk] == 0;
  }
  EXPECT_FALSE(gone.empty());
  EXPECT_EQ(held(0), on_fast);
  EXPECT_EQ(held(1), k_chunks - gone.size() - on_fast);
}

}  // namespace
}  // namespace terrace::transfer
