// Tests small blocks by intent on this machine's first node, which stands for several places: contents, owners and
// accounting.
#include "agent/heap/small_blocks.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "agent/heap/ordered_heap.hpp"
#include "quiet_heap.hpp"
#include "support/real_memory.hpp"

namespace terrace::agent {
namespace {

constexpr std::size_t k_mib = std::size_t{1} << 20;
constexpr std::size_t k_extent = memory::BlockArena::k_extent_size;

// Arenas are global, so that all tests share one heap. Budgets: 512 MiB of the first place, 8 MiB of the second.
struct HeapUnderTest {
  HeapUnderTest() : machine(tests::machine_on({0, 0, 0})), ledger(*page, {{512 * k_mib}, {8 * k_mib}, {1 << 30}}) {
    heap.emplace(quiet_parts(machine, ledger, counts));
    strict = heap->add_ordering("second place alone", {1}, OrderedHeap::Rule::strict);
  }
  machine::Machine machine;
  std::unique_ptr<memory::LedgerPage> page = std::make_unique<memory::LedgerPage>();
  memory::Ledger ledger;
  memory::OrderedCounts counts;
  std::optional<OrderedHeap> heap;
  int strict = -1;
};

HeapUnderTest& living() {
  static auto& all = *new HeapUnderTest;
  return all;
}

class SmallBlocksTest : public ::testing::Test {
 protected:
  OrderedHeap& heap_ = *living().heap;
  SmallBlocks& small_ = heap_.small();
  int bandwidth_ = heap_.find_intent("bandwidth");
  int latency_ = heap_.find_intent("latency");
};

struct Block {
  std::size_t size;
  int order;
  unsigned char mark;
};

bool is_all(const unsigned char* block, std::size_t size, unsigned char value) {
  return std::all_of(block, block + size, [=](unsigned char byte) { return byte == value; });
}

// Compares with a list of live blocks: they are disjoint, aligned, known by their ordering, and keep their
// contents.
TEST_F(SmallBlocksTest, RandomHistory_ComparedWithList_IsEqual) {
  std::mt19937 random(23);
  std::map<unsigned char*, Block> blocks;
  for (int i = 0; i < 60000; ++i) {
    if (blocks.size() > 3000 || (!blocks.empty() && random() % 3 == 0)) {
      auto at = blocks.lower_bound(reinterpret_cast<unsigned char*>(
          reinterpret_cast<std::uint64_t>(blocks.begin()->first) + random() % (64 * k_mib)));
      if (at == blocks.end()) at = blocks.begin();
      const auto& [block, is] = *at;
      ASSERT_TRUE(is_all(block, is.size, is.mark));
      ASSERT_EQ(small_.order_of(block), is.order);
      ASSERT_EQ(small_.order_of(block + is.size - 1), is.order);
      ASSERT_GE(SmallBlocks::size_of(block), is.size);
      SmallBlocks::release(is.order, block);
      blocks.erase(at);
      continue;
    }
    // Sizes of all orders of magnitude.
    const auto magnitude = random() % 100 == 0 ? 20U : random() % 14;
    const std::size_t size = 1 + random() % (std::size_t{1} << magnitude);
    const auto alignment = std::size_t{1} << (random() % 4 == 0 ? random() % 17 : 4);
    const int order = random() % 2 == 0 ? bandwidth_ : latency_;
    const bool zeros = random() % 4 == 0;
    auto* const block = static_cast<unsigned char*>(small_.allocate(size, alignment, order, zeros));
    ASSERT_NE(block, nullptr);
    ASSERT_EQ(reinterpret_cast<std::uint64_t>(block) % alignment, 0U);
    const auto next = blocks.lower_bound(block);
    if (next != blocks.end()) {
      ASSERT_LE(block + size, next->first);
    }
    if (next != blocks.begin()) {
      ASSERT_GE(block, std::prev(next)->first + std::prev(next)->second.size);
    }
    if (zeros) {
      ASSERT_TRUE(is_all(block, size, 0));
    }
    const auto mark = static_cast<unsigned char>(random());
    std::memset(block, mark, size);
    blocks[block] = {size, order, mark};
  }
  for (const auto& [block, is] : blocks) SmallBlocks::release(is.order, block);
}

// 24 MiB of small blocks are charged in extents of 2 MiB, which are all released when no block is left.
TEST_F(SmallBlocksTest, Extents_WhileInUse_AreCharged) {
  small_.purge();
  const auto before = living().ledger.held(0).value;
  std::vector<void*> blocks;
  for (std::size_t bytes = 0; bytes < 24 * k_mib; bytes += 1024)
    blocks.push_back(small_.allocate(1024, 16, bandwidth_, false));
  const auto held = living().ledger.held(0).value - before;
  EXPECT_GE(held, 24 * k_mib);
  EXPECT_LE(held, 28 * k_mib);
  EXPECT_EQ(held % k_extent, 0U);
  for (void* block : blocks) {
    ASSERT_STREQ(heap_.where(block), "p0");
    SmallBlocks::release(bandwidth_, block);
  }
  small_.purge();
  EXPECT_EQ(living().ledger.held(0).value, before);
  EXPECT_EQ(small_.order_of(blocks.back()), -1);
  EXPECT_EQ(heap_.where(blocks.back()), nullptr);
}

// Pages are resident before the first touch, on the place's node.
TEST_F(SmallBlocksTest, Allocate_SmallBlock_IsPopulated) {
  void* const block = small_.allocate(512 << 10, 4096, latency_, false);
  const auto nodes = tests::kernel_nodes(reinterpret_cast<std::uint64_t>(block), (512 << 10) / k_page);
  EXPECT_TRUE(std::ranges::all_of(nodes, [](int node) { return node == 0; }));
  SmallBlocks::release(latency_, block);
}

TEST_F(SmallBlocksTest, Allocate_StrictOrderingFull_ReturnsNull) {
  const int strict = living().strict;
  std::vector<void*> blocks;
  while (void* const block = small_.allocate(100000, 16, strict, false)) {
    EXPECT_STREQ(heap_.where(block), "p1");
    blocks.push_back(block);
    ASSERT_LE(blocks.size(), 8 * k_mib / 100000);
  }
  EXPECT_GE(blocks.size(), 6 * k_mib / 100000);
  EXPECT_EQ(living().ledger.held(1).value, 8 * k_mib);
  for (void* block : blocks) SmallBlocks::release(strict, block);
  small_.purge();
  EXPECT_EQ(living().ledger.held(1).value, 0U);
  EXPECT_EQ(heap_.allocate(9 * k_mib, 1, strict, OrderedHeap::FillMode::eager), nullptr);
  EXPECT_EQ(living().ledger.held(1).value, 0U);
  void* const large = heap_.allocate(8 * k_mib, 1, strict, OrderedHeap::FillMode::eager);
  ASSERT_NE(large, nullptr);
  EXPECT_STREQ(heap_.where(static_cast<char*>(large) + 8 * k_mib - 1), "p1");
  EXPECT_TRUE(heap_.release(large));
  EXPECT_EQ(living().ledger.held(1).value, 0U);
}

// Each thread frees blocks that its neighbour has allocated.
TEST_F(SmallBlocksTest, Release_ByOtherThreads_IsSafe) {
  constexpr int k_threads = 4;
  constexpr std::size_t k_slots = 1000;
  std::vector<std::atomic<unsigned char*>> slots(k_slots);
  std::atomic<int> wrong{0};
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 50000; ++i) {
      const auto size = 9 + random() % 5000;
      const int order = random() % 2 == 0 ? bandwidth_ : latency_;
      auto* const block = static_cast<unsigned char*>(small_.allocate(size, 16, order, false));
      const auto mark = static_cast<unsigned char>(random());
      std::memset(block, mark, 9);
      std::memcpy(block + 1, &size, 4);
      block[8] = static_cast<unsigned char>(order);
      std::memset(block + 9, mark, size - 9);
      auto* const other = slots[random() % k_slots].exchange(block);
      if (!other) continue;
      unsigned length = 0;
      std::memcpy(&length, other + 1, 4);
      if (small_.order_of(other) != other[8] || !is_all(other + 9, length - 9, other[0])) ++wrong;
      SmallBlocks::release(small_.order_of(other), other);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < k_threads; ++i) threads.emplace_back(work, i);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  for (auto& slot : slots)
    if (auto* const block = slot.load()) SmallBlocks::release(small_.order_of(block), block);
}

// Forked children allocate and free while other threads of the parent allocate: no lock stays held in a child.
TEST_F(SmallBlocksTest, Fork_Child_AllocatesAndReleases) {
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  threads.reserve(2);
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      while (!over)
        for (std::size_t size = 16; size < 300000; size *= 3)
          SmallBlocks::release(bandwidth_, small_.allocate(size, 16, bandwidth_, false));
    });
  auto* const kept = static_cast<char*>(small_.allocate(100, 16, latency_, false));
  std::strcpy(kept, "kept");
  for (int i = 0; i < 50; ++i) {
    memory::BlockArena::lock();
    heap_.lock();
    const pid_t child = ::fork();
    heap_.unlock();
    memory::BlockArena::unlock();
    if (child == 0) {
      ::alarm(100);
      heap_.in_child();
      bool right = std::strcmp(kept, "kept") == 0;
      SmallBlocks::release(latency_, kept);
      for (std::size_t size = 16; size < 300000; size *= 3) {
        void* const block = small_.allocate(size, 16, bandwidth_, true);
        right = right && block && is_all(static_cast<unsigned char*>(block), size, 0);
        std::memset(block, 1, size);
        SmallBlocks::release(bandwidth_, block);
      }
      ::_exit(right ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  over = true;
  for (auto& thread : threads) thread.join();
  SmallBlocks::release(latency_, kept);
}

}  // namespace
}  // namespace terrace::agent
