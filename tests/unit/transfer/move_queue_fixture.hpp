// Fixture: a mover over real memory, with a clock that can block it. All places share one node.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "support/real_memory.hpp"
#include "transfer/move_queue.hpp"

namespace terrace::transfer {

using tests::Mapping;
using transfer::Ticket;
using transfer::TransferResult;

constexpr int k_no_such_node = 1000;
constexpr std::uint32_t k_chunk_size = 4 * k_page;

// Counting clock. While the gate is closed, the mover's thread blocks when it reads the start time of a transfer.
class GatedClock final : public Clock {
 public:
  Seconds now() override {
    std::unique_lock lock(mutex_);
    if (std::this_thread::get_id() != owner_) {
      ++arrivals_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return open_; });
    }
    return Seconds{static_cast<double>(++ticks_)};
  }
  void charge(Seconds) override {}
  void shut() {
    const std::lock_guard lock(mutex_);
    open_ = false;
    arrivals_ = 0;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  // Waits until the mover's thread is blocked at the gate.
  void await_arrival() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return arrivals_ > 0; });
  }

 private:
  const std::thread::id owner_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  int arrivals_ = 0;
  std::uint64_t ticks_ = 0;
};

class MoveQueueTest : public ::testing::Test {
 protected:
  // Makes `count` populated chunks on place 1, charged; place 0's budget holds `fast` of them.
  void start(std::uint32_t count, std::uint32_t fast, const std::vector<int>& nodes = {0, 0, k_no_such_node},
             std::uint32_t chunk_size = k_chunk_size) {
    chunk_size_ = chunk_size;
    const auto pages = chunk_size / k_page;
    machine_ = std::make_unique<machine::Machine>(tests::machine_on(nodes));
    map_ = std::make_unique<Mapping>(std::size_t{count} * chunk_size, chunk_size);
    map_->touch(0, count * pages);
    machine::Budget budget(nodes.size(), Bytes{1ULL << 30});
    budget[0] = Bytes{std::uint64_t{fast} * chunk_size};
    ledger_ = std::make_unique<memory::Ledger>(page_, budget);
    for (std::uint32_t i = 0; i < count; ++i) {
      chunks_.add(map_->address(i * pages), chunk_size, 0, 0, 1);
      ASSERT_TRUE(ledger_->take(1, Bytes{chunk_size}));
    }
    mover_ = std::make_unique<MoveQueue>(*machine_, chunks_, *ledger_, clock_);
  }
  void TearDown() override { clock_.open(); }

  PlaceId place(ChunkId chunk) { return chunks_[chunk].place.load(); }
  std::uint64_t held(PlaceId where) { return ledger_->held(where).value / chunk_size_; }

  std::uint32_t chunk_size_ = k_chunk_size;
  GatedClock clock_;
  memory::LedgerPage page_{};
  memory::ChunkTable chunks_;
  std::unique_ptr<machine::Machine> machine_;
  std::unique_ptr<Mapping> map_;
  std::unique_ptr<memory::Ledger> ledger_;
  std::unique_ptr<MoveQueue> mover_;
};

}  // namespace terrace::transfer
