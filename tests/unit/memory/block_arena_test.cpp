// Tests BlockArena over a counting source: blocks do not overlap, all extents are returned, and thread caches lose
// nothing.
#include "memory/arenas/block_arena.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "memory/arenas/size_classes.hpp"

namespace terrace::memory {
namespace {

constexpr auto k_extent_size = BlockArena::k_extent_size;

class CountedExtents final : public BlockArena::ExtentSource {
 public:
  void* allocate_extent(std::size_t size) noexcept override {
    const std::lock_guard guard(mutex_);
    if (size != k_extent_size || extents_.size() == most_) return nullptr;
    void* const got = ::mmap(nullptr, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const auto address = reinterpret_cast<std::uint64_t>(got);
    const auto begin = (address + size - 1) / size * size;
    if (begin > address) ::munmap(got, begin - address);
    if (begin < address + size) ::munmap(reinterpret_cast<void*>(begin + size), address + size - begin);
    extents_.insert(begin);
    return reinterpret_cast<void*>(begin);
  }
  void release_extent(void* address, std::size_t size) noexcept override {
    const std::lock_guard guard(mutex_);
    EXPECT_EQ(size, k_extent_size);
    EXPECT_EQ(extents_.erase(reinterpret_cast<std::uint64_t>(address)), 1U);
    ::munmap(address, size);
  }
  std::size_t count() {
    const std::lock_guard guard(mutex_);
    return extents_.size();
  }
  void limit(std::size_t most) { most_ = most; }

 private:
  std::mutex mutex_;
  std::set<std::uint64_t> extents_;
  std::size_t most_ = ~std::size_t{0};
};

// Arenas live as long as the process, so the sources do, too.
CountedExtents& source(unsigned number) {
  static auto& all = *new std::array<CountedExtents, BlockArena::k_max_arenas>;
  static const bool made = [] {
    for (unsigned i = 0; i < 3; ++i) BlockArena::create(i, all[i]);
    return true;
  }();
  EXPECT_TRUE(made);
  return all[number];
}

TEST(SizeClasses, EverySize_FitsAndWastesAtMostAQuarter) {
  std::size_t before = 0;
  for (std::size_t size = 1; size <= 32768; ++size) {
    const auto held = size_of_class(size_class_of(size));
    ASSERT_GE(held, size);
    ASSERT_TRUE(held < size + 16 || held * 4 <= size * 5) << size;
    ASSERT_GE(size_class_of(size), before);
    before = size_class_of(size);
    ASSERT_EQ(size_of_class(size_class_of(held)), held);
  }
}

TEST(BlockArena, RandomHistory_BlocksAreDisjointAndExtentsAreReturned) {
  auto& extents = source(0);
  std::mt19937 random(11);
  std::map<unsigned char*, std::pair<std::size_t, unsigned char>> blocks;
  for (int i = 0; i < 30000; ++i) {
    if (blocks.size() > 1500 || (!blocks.empty() && random() % 5 < 2)) {
      auto at = blocks.begin();
      std::advance(at, random() % std::min<std::size_t>(blocks.size(), 40));
      const auto size = at->second.first;
      const auto pattern = at->second.second;
      ASSERT_TRUE(std::all_of(at->first, at->first + size, [=](unsigned char byte) { return byte == pattern; }));
      BlockArena::release(0, at->first);
      blocks.erase(at);
      continue;
    }
    const std::size_t size = 1 + random() % (std::size_t{1} << (random() % 50 == 0 ? 20 : random() % 16));
    const auto alignment = std::size_t{1} << (random() % 3 == 0 ? random() % 21 : 4);
    const bool zeros = random() % 3 == 0;
    auto* const block = static_cast<unsigned char*>(BlockArena::allocate(0, size, alignment, zeros));
    ASSERT_NE(block, nullptr);
    ASSERT_EQ(reinterpret_cast<std::uint64_t>(block) % std::max<std::size_t>(alignment, 16), 0U);
    ASSERT_GE(BlockArena::size_of(block), size);
    if (zeros) {
      ASSERT_TRUE(std::all_of(block, block + size, [](unsigned char byte) { return byte == 0; }));
    }
    const auto next = blocks.lower_bound(block);
    if (next != blocks.end()) {
      ASSERT_LE(block + BlockArena::size_of(block), next->first);
    }
    if (next != blocks.begin()) {
      ASSERT_GE(block, std::prev(next)->first + std::prev(next)->second.first);
    }
    const auto pattern = static_cast<unsigned char>(random());
    std::memset(block, pattern, size);
    blocks[block] = {size, pattern};
  }
  EXPECT_GT(extents.count(), 0U);
  for (const auto& [block, is] : blocks) BlockArena::release(0, block);
  BlockArena::purge(0);
  EXPECT_EQ(extents.count(), 0U);
}

// Repeated allocation of a block does not call the source: the empty extent is kept.
TEST(BlockArena, RepeatedAllocation_KeepsOneEmptyExtent) {
  auto& extents = source(0);
  for (const std::size_t size : {100UL, 300000UL, 1UL << 20}) {
    void* const first = BlockArena::allocate(0, size, 16, false);
    BlockArena::release(0, first);
    EXPECT_EQ(extents.count(), 1U);
    void* const again = BlockArena::allocate(0, size, 16, false);
    EXPECT_EQ(extents.count(), 1U);
    BlockArena::release(0, again);
  }
  BlockArena::purge(0);
}

TEST(BlockArena, ExhaustedSource_ReturnsNull) {
  auto& extents = source(1);
  extents.limit(3);
  for (const std::size_t size : {64UL, 5000UL, 200000UL}) {
    std::vector<void*> blocks;
    while (void* const block = BlockArena::allocate(1, size, 16, false)) blocks.push_back(block);
    EXPECT_EQ(extents.count(), 3U);
    // All memory except for the tables and the remainders of slabs and extents.
    EXPECT_GT(blocks.size() * size, 3 * k_extent_size * 85 / 100);
    EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size());
    for (void* block : blocks) BlockArena::release(1, block);
    BlockArena::purge(1);
    EXPECT_EQ(extents.count(), 0U);
  }
}

// Blocks pass between threads, threads exit with full caches, and all extents are returned.
TEST(BlockArena, ExitingThreads_FlushTheirCaches) {
  auto& extents = source(2);
  std::vector<std::atomic<unsigned char*>> slots(500);
  std::atomic<int> wrong{0};
  for (int round = 0; round < 3; ++round) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; ++i)
      threads.emplace_back([&, i] {
        std::mt19937 random(i + static_cast<unsigned>(round) * 7);
        for (int n = 0; n < 10000; ++n) {
          const auto size = 2 + random() % (random() % 100 == 0 ? 100000 : 3000);
          auto* const block = static_cast<unsigned char*>(BlockArena::allocate(2, size, 16, false));
          block[0] = block[size - 1] = static_cast<unsigned char>(size);
          auto* const other = slots[random() % slots.size()].exchange(block);
          if (!other) continue;
          const auto pattern = other[0];
          wrong += std::none_of(other + 1, other + BlockArena::size_of(other),
                                [=](unsigned char byte) { return byte == pattern; });
          BlockArena::release(2, other);
        }
      });
    for (auto& thread : threads) thread.join();
  }
  EXPECT_EQ(wrong, 0);
  for (auto& slot : slots)
    if (auto* const block = slot.exchange(nullptr)) BlockArena::release(2, block);
  BlockArena::purge(2);
  EXPECT_EQ(extents.count(), 0U);
}

}  // namespace
}  // namespace terrace::memory
