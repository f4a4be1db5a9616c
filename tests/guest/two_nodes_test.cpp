// Tests moves between NUMA nodes, page by page against the kernel. Skipped outside a guest with three nodes
// (tests/guest_bed/vm.py).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <thread>

#include "memory/provider.hpp"
#include "support/real_memory.hpp"
#include "transfer/move_queue.hpp"

namespace terrace::transfer {
namespace {

using tests::kernel_nodes;
using tests::Mapping;
using transfer::Ticket;
using transfer::TransferResult;

constexpr std::size_t k_huge = 2u << 20;
constexpr std::size_t k_chunk_pages = 16;
constexpr std::size_t k_chunk_size = k_chunk_pages * k_page;

class StepClock final : public Clock {
 public:
  Seconds now() override { return Seconds{static_cast<double>(++ticks_)}; }
  void charge(Seconds) override {}

 private:
  std::atomic<std::uint64_t> ticks_{0};
};

bool has_node(int node) {
  return ::access(("/sys/devices/system/node/node" + std::to_string(node)).c_str(), F_OK) == 0;
}

long vmstat(const std::string& name) {
  std::ifstream file("/proc/vmstat");
  std::string key;
  for (long value = 0; file >> key >> value;)
    if (key == name) return value;
  return -1;
}

// Bytes that a node has free.
// Free, or in files that the kernel may drop.
std::size_t free_memory(int node) {
  std::ifstream file("/sys/devices/system/node/node" + std::to_string(node) + "/meminfo");
  std::string word;
  std::size_t kib = 0;
  while (file >> word)
    if (std::size_t part = 0;
        (word == "MemFree:" || word == "FilePages:" || word == "SReclaimable:") && file >> part)
      kib += part;
  return kib << 10;
}

bool in_huge_page(std::uint64_t address) {
  const auto word = [](const char* path, std::uint64_t index) {
    std::uint64_t value = 0;
    const int file = ::open(path, O_RDONLY);
    EXPECT_EQ(::pread(file, &value, 8, static_cast<off_t>(index * 8)), 8) << path;
    ::close(file);
    return value;
  };
  const auto frame = word("/proc/self/pagemap", address / k_page) & ((1ULL << 55) - 1);
  return (word("/proc/kpageflags", frame) >> 22 & 1) != 0;  // KPF_THP
}

class TwoNodes : public ::testing::Test {
 protected:
  // Place p is node p.
  void SetUp() override {
    if (!has_node(1)) GTEST_SKIP() << "this machine has one node: run me in a guest";
  }
  void start(std::size_t pages, const std::vector<std::uint64_t>& budget = {1ULL << 30, 1ULL << 30},
             const std::vector<int>& nodes = {0, 1}) {
    mover_.reset();  // it gives back what it keeps
    machine_ = std::make_unique<machine::Machine>(tests::machine_on(nodes));
    map_ = std::make_unique<Mapping>(pages * k_page, k_huge);
    machine::Budget bytes;
    for (const auto one : budget) bytes.push_back(Bytes{one});
    ledger_ = std::make_unique<memory::Ledger>(page_, bytes);
    provider_ = std::make_unique<memory::NumaProvider>(*machine_, chunks_);
    mover_ = std::make_unique<MoveQueue>(*machine_, chunks_, *ledger_, clock_);
  }
  // Chunks over the whole mapping, bound to `place` and on its account.
  void bind_all(std::size_t pages, PlaceId place, std::size_t chunk_pages = k_chunk_pages) {
    for (std::size_t at = 0; at < pages; at += chunk_pages) {
      const auto size = static_cast<std::uint32_t>(chunk_pages * k_page);
      const auto chunk = chunks_.add(map_->address(at), size, 0, 0, k_no_place);
      ASSERT_TRUE(ledger_->take(place, Bytes{size}));
      ASSERT_TRUE(provider_->bind(chunk, 1, place));
      chunks_[chunk].place = place;
    }
  }
  std::vector<int> nodes_of(ChunkId chunk) {
    return kernel_nodes(chunks_[chunk].address, chunks_[chunk].size / k_page);
  }
  void expect_all_on(ChunkId chunk, int node) {
    const auto nodes = nodes_of(chunk);
    EXPECT_EQ(std::count(nodes.begin(), nodes.end(), node), static_cast<long>(nodes.size())) << "chunk " << chunk;
  }
  PlaceId place(ChunkId chunk) { return chunks_[chunk].place.load(); }
  std::uint64_t held(PlaceId where) { return ledger_->held(where).value; }
  TransferResult move(ChunkId chunk, PlaceId to) {
    mover_->wait(mover_->submit({chunk, to}));
    return mover_->completions().back();
  }

  StepClock clock_;
  memory::LedgerPage page_{};
  memory::ChunkTable chunks_;
  std::unique_ptr<machine::Machine> machine_;
  std::unique_ptr<Mapping> map_;
  std::unique_ptr<memory::Ledger> ledger_;
  std::unique_ptr<memory::NumaProvider> provider_;
  std::unique_ptr<MoveQueue> mover_;
};

TEST_F(TwoNodes, ChunkWithPlace_FirstTouchUsesIt) {
  start(32 * k_chunk_pages);
  for (std::size_t i = 0; i < 32; ++i)
    chunks_.add(map_->address(i * k_chunk_pages), k_chunk_size, 0, 0, k_no_place);
  for (ChunkId chunk = 0; chunk < 32; chunk += 2)
    ASSERT_TRUE(provider_->bind(chunk, 2, static_cast<PlaceId>(chunk / 2 % 2)));
  map_->touch(0, 32 * k_chunk_pages);
  for (ChunkId chunk = 0; chunk < 32; ++chunk) {
    expect_all_on(chunk, static_cast<int>(chunk / 2 % 2));
    EXPECT_EQ(provider_->where(chunk), chunk / 2 % 2);
  }
}

TEST_F(TwoNodes, TouchedPages_AreMovedOnPlacement) {
  start(4 * k_chunk_pages);
  for (std::size_t i = 0; i < 4; ++i)
    chunks_.add(map_->address(i * k_chunk_pages), k_chunk_size, 0, 0, k_no_place);
  ASSERT_EQ(::madvise(map_->page(0), 4 * k_chunk_size, MADV_NOHUGEPAGE), 0);
  map_->touch(0, 3 * k_chunk_pages / 2);
  ASSERT_TRUE(provider_->bind(0, 2, 1));
  const auto early = kernel_nodes(map_->address(), 3 * k_chunk_pages / 2);
  EXPECT_EQ(std::count(early.begin(), early.end(), 1), static_cast<long>(early.size()));
  map_->touch(3 * k_chunk_pages / 2, k_chunk_pages / 2);
  expect_all_on(0, 1);
  expect_all_on(1, 1);
}

TEST_F(TwoNodes, Move_MovesExactlyItsPagesAndKeepsContents) {
  start(8 * k_chunk_pages);
  bind_all(8 * k_chunk_pages, 1);
  map_->touch(0, 8 * k_chunk_pages);
  Ticket last = 0;
  for (const ChunkId chunk : {1, 2, 5}) last = mover_->submit({chunk, 0});
  mover_->wait(last);
  for (const auto& result : mover_->completions()) {
    EXPECT_FALSE(result.refused);
    EXPECT_EQ(result.size, Bytes{k_chunk_size});
  }
  for (ChunkId chunk = 0; chunk < 8; ++chunk) expect_all_on(chunk, chunk == 1 || chunk == 2 || chunk == 5 ? 0 : 1);
  for (std::size_t i = 0; i < 8 * k_chunk_pages; ++i) EXPECT_EQ(*map_->page(i), static_cast<unsigned char>(i + 1));
  EXPECT_EQ(held(0), 3 * k_chunk_size);
  EXPECT_EQ(held(1), 5 * k_chunk_size);
}

TEST_F(TwoNodes, TouchAfterMove_UsesTarget) {
  start(2 * k_chunk_pages);
  bind_all(2 * k_chunk_pages, 1);
  ASSERT_EQ(::madvise(map_->page(0), 2 * k_chunk_size, MADV_NOHUGEPAGE), 0);
  map_->touch(0, 5);
  EXPECT_FALSE(move(0, 0).refused);
  auto nodes = nodes_of(0);
  EXPECT_EQ(std::count(nodes.begin(), nodes.end(), 0), 5);
  EXPECT_EQ(std::count_if(nodes.begin(), nodes.end(), [](int node) { return node < 0; }),
            static_cast<long>(k_chunk_pages) - 5);
  EXPECT_FALSE(move(1, 0).refused) << "not a single page is there";
  map_->touch(0, 2 * k_chunk_pages);
  expect_all_on(0, 0);
  expect_all_on(1, 0);
}

TEST_F(TwoNodes, HugePage_MoveOfPartLeavesNeighbours) {
  constexpr std::size_t k_pages = 4 * k_huge / k_page;
  start(k_pages);
  bind_all(k_pages, 1);
  ASSERT_EQ(::madvise(map_->page(0), 4 * k_huge, MADV_HUGEPAGE), 0);
  map_->touch(0, k_pages);
  ASSERT_TRUE(in_huge_page(map_->address(512))) << "the kernel gave no huge pages: this test shows nothing";
  EXPECT_FALSE(move(37, 0).refused);  // in the middle of the second huge page
  for (ChunkId chunk = 0; chunk < chunks_.size(); ++chunk) expect_all_on(chunk, chunk == 37 ? 0 : 1);
  EXPECT_TRUE(in_huge_page(map_->address(0))) << "the others stay whole";
  EXPECT_FALSE(in_huge_page(map_->address(37 * k_chunk_pages)));
  for (std::size_t i = 0; i < k_pages; ++i) ASSERT_EQ(*map_->page(i), static_cast<unsigned char>(i + 1));
}

TEST_F(TwoNodes, HugePages_CoveredByChunk_MoveWhole) {
  constexpr std::size_t k_pages = 4 * k_huge / k_page;
  start(k_pages);
  bind_all(k_pages, 1, 512);
  ASSERT_EQ(::madvise(map_->page(0), 4 * k_huge, MADV_HUGEPAGE), 0);
  map_->touch(0, k_pages);
  ASSERT_TRUE(in_huge_page(map_->address(512)));
  EXPECT_FALSE(move(1, 0).refused);
  EXPECT_TRUE(in_huge_page(map_->address(512)));
  for (ChunkId chunk = 0; chunk < 4; ++chunk) expect_all_on(chunk, chunk == 1 ? 0 : 1);
}

// More than the first node has, whatever the budget says.
TEST_F(TwoNodes, FullNode_RefusesMoveWithoutKill) {
  const auto pages = (free_memory(0) + (16u << 20)) / (256 * k_page) * 256;
  start(pages);
  bind_all(pages, 1, 256);
  map_->touch(0, pages);
  const auto kills = vmstat("oom_kill");
  for (ChunkId chunk = 0; chunk < chunks_.size(); ++chunk) mover_->submit({chunk, 0});
  mover_->wait(chunks_.size());
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  for (const auto& result : mover_->completions()) {
    expect_all_on(result.chunk, result.refused ? 1 : 0);
    EXPECT_EQ(place(result.chunk), result.refused ? 1 : 0);
    if (result.refused) {
      EXPECT_EQ(result.error, ENOMEM);
    }
    ++(result.refused ? refused : accepted);
  }
  EXPECT_GT(accepted, 0u);
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(accepted + refused, chunks_.size());
  EXPECT_EQ(held(0), accepted * 256 * k_page);
  EXPECT_EQ(held(1), refused * 256 * k_page);
  EXPECT_EQ(vmstat("oom_kill"), kills);
  for (std::size_t i = 0; i < pages; ++i) ASSERT_EQ(*map_->page(i), static_cast<unsigned char>(i + 1));
}

TEST_F(TwoNodes, QueuedMoves_ObjectFreed_AreDropped) {
  constexpr std::size_t k_pages = 256 * k_chunk_pages;
  start(k_pages);
  bind_all(k_pages, 1);
  map_->touch(0, k_pages);
  for (int round = 0; round < 5; ++round) {
    for (ChunkId chunk = 0; chunk < 256; ++chunk) mover_->submit({chunk, static_cast<PlaceId>(round % 2)});
    // The middle is freed: from here on no thread may touch these addresses.
    mover_->forget(64, 128);
    ASSERT_EQ(::madvise(map_->page(64 * k_chunk_pages), 128 * k_chunk_size, MADV_DONTNEED), 0);
    ASSERT_EQ(::mprotect(map_->page(64 * k_chunk_pages), 128 * k_chunk_size, PROT_NONE), 0);
    mover_->wait((round + 1) * 256);
    for (ChunkId chunk = 0; chunk < 256; ++chunk)
      if (chunk < 64 || chunk >= 192) expect_all_on(chunk, round % 2);
    std::uint64_t on_fast = 0;
    for (ChunkId chunk = 0; chunk < 256; ++chunk) on_fast += place(chunk) == 0;
    EXPECT_EQ(held(0), on_fast * k_chunk_size);
    // Something new lies there from now on.
    ASSERT_EQ(::mprotect(map_->page(64 * k_chunk_pages), 128 * k_chunk_size, PROT_READ | PROT_WRITE), 0);
    for (ChunkId chunk = 64; chunk < 192; ++chunk) {
      EXPECT_EQ(place(chunk), k_no_place);
      ASSERT_TRUE(ledger_->take(1, Bytes{k_chunk_size}));
      chunks_[chunk].place = 1;
    }
    map_->touch(64 * k_chunk_pages, 128 * k_chunk_pages);
    mover_->completions();
  }
}

// Random moves under a small budget, with the program writing all the while.
TEST_F(TwoNodes, RandomMoves_KernelPages_StayWithinBudget) {
  constexpr std::size_t k_chunks = 64;
  constexpr std::uint64_t k_fast = 10;
  start(k_chunks * k_chunk_pages, {k_fast * k_chunk_size, 1ULL << 30});
  bind_all(k_chunks * k_chunk_pages, 1);
  map_->touch(0, k_chunks * k_chunk_pages);
  std::atomic<bool> stop{false};
  std::uint64_t written = 0;
  std::thread writer([&] {
    for (; !stop; ++written)
      for (std::size_t i = 0; i < k_chunks * k_chunk_pages; ++i)
        ++*reinterpret_cast<std::uint64_t*>(map_->page(i) + 64);
  });
  std::mt19937 random(11);
  std::map<ChunkId, int> refused;
  for (int step = 0; step < 8; ++step) {
    Ticket last = 0;
    for (int i = 0; i < 12; ++i)
      last = mover_->submit({static_cast<ChunkId>(random() % k_chunks), static_cast<PlaceId>(random() % 3 != 0)});
    mover_->wait(last);
    for (const auto& result : mover_->completions()) {
      if (result.refused) {
        EXPECT_EQ(result.error, 0) << "only the ledger says no";
      }
    }
    const auto nodes = kernel_nodes(map_->address(), k_chunks * k_chunk_pages);
    const auto on_fast = static_cast<std::uint64_t>(std::count(nodes.begin(), nodes.end(), 0)) * k_page;
    EXPECT_LE(on_fast, k_fast * k_chunk_size);
    EXPECT_EQ(on_fast, held(0)) << "the ledger is the kernel's account";
  }
  stop = true;
  writer.join();
  for (std::size_t i = 0; i < k_chunks * k_chunk_pages; ++i)
    ASSERT_EQ(*reinterpret_cast<std::uint64_t*>(map_->page(i) + 64), written) << "no write is lost";
}

// A child that shares the pages; it lives until the pipe is closed.
class Sharer {
 public:
  Sharer() {
    EXPECT_EQ(::pipe(ends_), 0);
    child_ = ::fork();
    if (child_ == 0) {
      char byte;
      ::close(ends_[1]);
      (void)!::read(ends_[0], &byte, 1);
      ::_exit(0);
    }
    ::close(ends_[0]);
  }
  ~Sharer() {
    ::close(ends_[1]);
    ::waitpid(child_, nullptr, 0);
  }
  Sharer(const Sharer&) = delete;
  Sharer& operator=(const Sharer&) = delete;

 private:
  int ends_[2] = {-1, -1};
  pid_t child_ = -1;
};

TEST_F(TwoNodes, PagesSharedWithChild_StayWholeUntilItEnds) {
  start(2 * k_chunk_pages);
  bind_all(2 * k_chunk_pages, 1);
  ASSERT_EQ(::madvise(map_->page(0), 2 * k_chunk_size, MADV_NOHUGEPAGE), 0);
  map_->touch(0, 2 * k_chunk_pages);
  {
    const Sharer child;
    map_->touch(0, 4);  // ours alone again: these could go
    const auto result = move(0, 0);
    EXPECT_TRUE(result.refused);
    EXPECT_EQ(result.error, EACCES);
    expect_all_on(0, 1);
    EXPECT_EQ(held(0), 0u);
    EXPECT_EQ(held(1), 2 * k_chunk_size);
  }
  EXPECT_FALSE(move(0, 0).refused);
  expect_all_on(0, 0);
  EXPECT_EQ(held(0), k_chunk_size);
}

// The way on and the way back are both closed: the chunk is in parts, and the account says so until it is whole
// again or freed. Its own place here is a node that does not exist: nothing can go back there.
TEST_F(TwoNodes, ChunkOnTwoPlaces_IsChargedToBoth) {
  for (const bool freed : {false, true}) {
    std::destroy_at(&chunks_);
    std::construct_at(&chunks_);
    start(k_chunk_pages, {1ULL << 30, 1ULL << 30, 1ULL << 30}, {0, 1, 1000});
    bind_all(k_chunk_pages, 1);
    ASSERT_EQ(::madvise(map_->page(0), k_chunk_size, MADV_NOHUGEPAGE), 0);
    map_->touch(0, k_chunk_pages);
    ledger_->give(1, Bytes{k_chunk_size});
    ASSERT_TRUE(ledger_->take(2, Bytes{k_chunk_size}));
    chunks_[0].place = 2;
    {
      const Sharer child;
      map_->touch(0, 4);
      const auto result = move(0, 0);
      EXPECT_TRUE(result.refused);
      const auto nodes = nodes_of(0);
      EXPECT_EQ(std::count(nodes.begin(), nodes.end(), 0), 4) << "they went and could not come back";
      EXPECT_EQ(place(0), 2);
      EXPECT_EQ(held(0), k_chunk_size);
      EXPECT_EQ(held(2), k_chunk_size);
    }
    if (freed) {
      mover_->forget(0, 1);
      EXPECT_EQ(held(0), 0u);
      EXPECT_EQ(held(2), 0u);
      EXPECT_EQ(place(0), k_no_place);
    } else {
      EXPECT_FALSE(move(0, 0).refused);
      expect_all_on(0, 0);
      EXPECT_EQ(held(0), k_chunk_size) << "once, not twice";
      EXPECT_EQ(held(2), 0u);
    }
  }
}

}  // namespace
}  // namespace terrace::transfer
