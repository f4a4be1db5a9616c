// Tests that blocks of the internal heap are disjoint, aligned and keep their contents, with several threads.
#include "agent/heap/internal_heap.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "live_blocks.hpp"

namespace terrace::agent {
namespace {

std::size_t random_size(std::mt19937& random) {
  switch (random() % 10) {
    case 0:
      return random() % 200'000;  // beyond the biggest class
    case 1:
    case 2:
      return random() % 20'000;
    default:
      return random() % 300;
  }
}

void churn(InternalHeap& heap, unsigned seed, int steps) {
  std::mt19937 random(seed);
  const auto allocate = [&]() -> LiveBlock {
    const auto size = random_size(random);
    const std::size_t alignment = random() % 4 == 0 ? std::size_t{16} << (random() % 9) : 16;
    auto* const block = static_cast<unsigned char*>(heap.allocate(size, alignment));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0U) << size << " at " << alignment;
    return {block, size, 0};
  };
  const auto wants = [&](std::size_t held) { return held < 300 && random() % 3 != 0; };
  churn_blocks(random, steps, wants, allocate, [&](void* block) { heap.release(block); });
}

TEST(InternalHeap, RandomHistory_AllBlocks_KeepTheirContents) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    InternalHeap heap;
    churn(heap, seed, 5000);
  }
}

TEST(InternalHeap, ConcurrentHistories_SeveralThreads_DoNotInterfere) {
  InternalHeap heap;
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) threads.emplace_back([&heap, seed] { churn(heap, seed, 4000); });
  for (auto& thread : threads) thread.join();
}

TEST(InternalHeap, Allocate_EverySizeOfEveryClass_IsUsable) {
  InternalHeap heap;
  for (std::size_t size = 0; size <= 20'000; size += size < 600 ? 1 : 37) {
    const LiveBlock first{static_cast<unsigned char*>(heap.allocate(size)), size, 1};
    const LiveBlock second{static_cast<unsigned char*>(heap.allocate(size)), size, 2};
    fill(first);
    fill(second);
    ASSERT_TRUE(intact(first)) << size;
    heap.release(first.block);
    heap.release(second.block);
  }
}

TEST(InternalHeap, Release_ThenAllocate_ReusesTheBlock) {
  InternalHeap heap;
  void* const first = heap.allocate(100);
  heap.release(first);
  EXPECT_EQ(heap.allocate(100), first);
  heap.release(nullptr);
}

TEST(InternalHeap, Allocate_ImpossibleSize_ReturnsNull) {
  InternalHeap heap;
  EXPECT_EQ(heap.allocate(SIZE_MAX), nullptr);
  EXPECT_EQ(heap.allocate(SIZE_MAX / 2), nullptr);
  EXPECT_EQ(heap.allocate(1, 1 << 20), nullptr);
}

}  // namespace
}  // namespace terrace::agent
