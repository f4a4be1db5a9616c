// Tests that blocks of the arena are disjoint and reused, and that it can be exhausted, with several threads.
#include "agent/heap/libc_arena.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "live_blocks.hpp"

namespace terrace::agent {
namespace {

void churn(LibcArena& blocks, unsigned seed, int steps) {
  std::mt19937 random(seed);
  const auto allocate = [&]() -> LiveBlock {
    const std::size_t size = random() % (random() % 8 == 0 ? 9000 : 300);
    auto* const block = static_cast<unsigned char*>(blocks.allocate(size));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0U);
    EXPECT_TRUE(blocks.contains(block));
    EXPECT_EQ(LibcArena::size_of(block), size);
    return {block, size, 0};
  };
  const auto wants = [&](std::size_t held) { return held < 20 && random() % 2 == 0; };
  churn_blocks(random, steps, wants, allocate, [&](void* block) { blocks.release(block); });
}

TEST(LibcArena, ConcurrentHistories_SeveralThreads_DoNotInterfere) {
  const auto blocks = std::make_unique<LibcArena>();
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 2; ++seed) threads.emplace_back([&, seed] { churn(*blocks, seed, 20'000); });
  for (auto& thread : threads) thread.join();
}

TEST(LibcArena, ReleaseAndAllocate_Repeated_NeverExhausts) {
  const auto blocks = std::make_unique<LibcArena>();
  for (int i = 0; i < 1000; ++i) {
    void* const block = blocks->allocate(32'768);  // a folder's entries
    ASSERT_NE(block, nullptr) << i;
    blocks->release(block);
  }
}

TEST(LibcArena, Allocate_TooLargeOrFull_ReturnsNull) {
  const auto blocks = std::make_unique<LibcArena>();
  EXPECT_EQ(blocks->allocate(LibcArena::k_largest + 1), nullptr);
  EXPECT_EQ(blocks->allocate(1, 2 * LibcArena::k_max_aligned), nullptr);
  std::size_t got = 0;
  while (blocks->allocate(LibcArena::k_largest)) got += LibcArena::k_largest;
  EXPECT_GT(got, LibcArena::k_arena / 2);
  EXPECT_LE(got, LibcArena::k_arena);
  int outside = 0;
  EXPECT_FALSE(blocks->contains(&outside));
}

TEST(LibcArena, Allocate_WithAlignment_IsAligned) {
  const auto blocks = std::make_unique<LibcArena>();
  for (std::size_t alignment = 1; alignment <= LibcArena::k_max_aligned; alignment *= 2) {
    void* const block = blocks->allocate(100, alignment);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0U);
    blocks->release(block);
  }
}

}  // namespace
}  // namespace terrace::agent
