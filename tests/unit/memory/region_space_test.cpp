// Tests RegionSpace and FreeRanges against brute force: one flag for each granule, searched from the beginning.
#include "memory/region_space.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "memory/free_ranges.hpp"

namespace terrace::memory {
namespace {

constexpr std::uint64_t k_granule = 4096;

// Model with one flag for each unit.
class BruteForce {
 public:
  explicit BruteForce(std::uint64_t units) : taken_(units, false) {}
  std::optional<std::uint64_t> allocate(std::uint64_t length, std::uint64_t alignment) {
    for (std::uint64_t start = 0; start + length <= taken_.size(); start += alignment)
      if (all_free(start, length)) {
        set_taken(start, length, true);
        return start;
      }
    return std::nullopt;
  }
  bool all_free(std::uint64_t start, std::uint64_t length) const {
    if (start + length > taken_.size()) return false;
    for (auto i = start; i < start + length; ++i)
      if (taken_[i]) return false;
    return true;
  }
  void set_taken(std::uint64_t start, std::uint64_t length, bool taken) {
    for (auto i = start; i < start + length; ++i) taken_[i] = taken;
  }
  std::uint64_t longest() const {
    std::uint64_t best = 0;
    std::uint64_t run = 0;
    for (const bool taken : taken_) best = std::max(best, run = taken ? 0 : run + 1);
    return best;
  }
  std::size_t num_ranges() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < taken_.size(); ++i) count += !taken_[i] && (i == 0 || taken_[i - 1]);
    return count;
  }

 private:
  std::vector<bool> taken_;
};

TEST(FreeRanges, RandomHistory_EqualsBruteForce) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const std::uint64_t units = 64 + random() % 512;
    FreeRanges free;
    free.release(0, units);
    BruteForce model(units);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> held;
    for (int step = 0; step < 500; ++step) {
      if (random() % 5 < 3) {
        const auto length = 1 + random() % (random() % 8 == 0 ? 100 : 12);
        const auto alignment = std::uint64_t{1} << (random() % 5);
        const auto expected = model.allocate(length, alignment);
        ASSERT_EQ(free.allocate(length, alignment), expected) << "seed " << seed << " step " << step;
        if (expected) held.emplace_back(*expected, length);
      } else if (random() % 4 == 0) {
        const auto start = random() % units;
        const auto length = 1 + random() % 8;
        const bool expected = model.all_free(start, length);
        ASSERT_EQ(free.allocate_at(start, length), expected) << "seed " << seed << " step " << step;
        if (expected) {
          model.set_taken(start, length, true);
          held.emplace_back(start, length);
        }
      } else if (!held.empty()) {
        std::swap(held[random() % held.size()], held.back());
        free.release(held.back().first, held.back().second);
        model.set_taken(held.back().first, held.back().second, false);
        held.pop_back();
      }
      ASSERT_EQ(free.longest(), model.longest());
      ASSERT_EQ(free.num_ranges(), model.num_ranges());
    }
  }
}

TEST(RegionSpace, RandomHistory_BlocksAreDisjointAndZeroed) {
  RegionSpace space(Bytes{64ULL << 20}, Bytes{k_granule});
  ASSERT_EQ(space.reserved().value, 64ULL << 20);
  struct Held {
    unsigned char* address;
    std::size_t size;
    unsigned char pattern;
  };
  std::vector<Held> held;
  std::mt19937 random(7);
  std::uint64_t in_use = 0;
  for (int step = 0; step < 3000; ++step) {
    if (random() % 2 == 0) {
      const std::size_t size = 1 + random() % (300 * k_granule);
      const std::size_t alignment = std::size_t{1} << (random() % 17);
      auto* const block = static_cast<unsigned char*>(space.allocate(size, alignment));
      if (!block) continue;
      ASSERT_EQ(reinterpret_cast<std::uint64_t>(block) % std::max<std::size_t>(alignment, k_granule), 0U);
      for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) ASSERT_EQ(block[at], 0) << "step " << step;
      const auto pattern = static_cast<unsigned char>(1 + step % 255);
      block[0] = block[size / 2] = block[size - 1] = pattern;
      held.push_back({block, size, pattern});
      in_use += (size + k_granule - 1) / k_granule * k_granule;
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      const auto [block, size, pattern] = held.back();
      held.pop_back();
      for (const std::size_t at : {std::size_t{0}, size / 2, size - 1})
        ASSERT_EQ(block[at], pattern) << "step " << step;
      const auto whole = (size + k_granule - 1) / k_granule * k_granule;
      ASSERT_EQ(space.find(block + size - 1).size, whole);
      ASSERT_EQ(space.release(block), whole);
      ASSERT_EQ(space.find(block).size, 0U);
      in_use -= whole;
    }
    ASSERT_EQ(space.in_use().value, in_use);
  }
}

TEST(RegionSpace, SameHistory_SameOffsets) {
  RegionSpace first(Bytes{256ULL << 20});
  RegionSpace second(Bytes{512ULL << 20});
  std::mt19937 random(3);
  std::vector<std::pair<void*, void*>> held;
  for (int step = 0; step < 1000; ++step) {
    if (held.empty() || random() % 3 != 0) {
      const std::size_t size = 1 + random() % 200'000;
      const auto pair = std::pair(first.allocate(size), second.allocate(size));
      if (!pair.first) break;
      ASSERT_EQ(reinterpret_cast<std::uint64_t>(pair.first) - first.base(),
                reinterpret_cast<std::uint64_t>(pair.second) - second.base());
      held.push_back(pair);
    } else {
      std::swap(held[random() % held.size()], held.back());
      ASSERT_EQ(first.release(held.back().first), second.release(held.back().second));
      held.pop_back();
    }
  }
}

TEST(RegionSpace, LargeBlocks_AreHugePageAligned) {
  RegionSpace space(Bytes{256ULL << 20});
  space.allocate(5 * k_granule);
  const auto big = reinterpret_cast<std::uint64_t>(space.allocate(3ULL << 20));
  EXPECT_EQ(big % (2ULL << 20), 0U);
  const auto aligned = reinterpret_cast<std::uint64_t>(space.allocate(k_granule, 64ULL << 20));
  ASSERT_NE(aligned, 0U);
  EXPECT_EQ(aligned % (64ULL << 20), 0U);
}

TEST(RegionSpace, Resize_InPlaceOnly) {
  RegionSpace space(Bytes{64ULL << 20});
  auto* const a = static_cast<char*>(space.allocate(10 * k_granule));
  std::memset(a, 1, 10 * k_granule);
  EXPECT_TRUE(space.resize(a, 4 * k_granule));
  auto* const b = static_cast<char*>(space.allocate(2 * k_granule));
  EXPECT_EQ(b, a + 4 * k_granule);
  EXPECT_EQ(b[0], 0) << "freed memory is zero when allocated again";
  EXPECT_FALSE(space.resize(a, 5 * k_granule)) << "b is in the way";
  EXPECT_EQ(space.find(a).size, 4 * k_granule);
  EXPECT_TRUE(space.resize(b, 100 * k_granule));
  EXPECT_EQ(b[99 * k_granule], 0);
  EXPECT_FALSE(space.resize(b, 1ULL << 62));
  EXPECT_FALSE(space.resize(b + k_granule, k_granule)) << "not the beginning of a block";
}

TEST(RegionSpace, ImpossibleRequests_AreRefused) {
  RegionSpace space(Bytes{64ULL << 20});
  EXPECT_EQ(space.allocate(65ULL << 20), nullptr);
  EXPECT_EQ(space.allocate(SIZE_MAX), nullptr);
  EXPECT_EQ(space.allocate(1, 1ULL << 40), nullptr);
  EXPECT_EQ(space.in_use().value, 0U);
  int local = 0;
  EXPECT_FALSE(space.contains(&local));
  EXPECT_EQ(space.release(&local), 0U);
  RegionSpace none(Bytes{1ULL << 20});
  EXPECT_EQ(none.reserved().value, 0U);
  EXPECT_EQ(none.allocate(1), nullptr);
}

// Blocks of one granule: the free space before, between and behind them is unmapped.
TEST(RegionSpace, Retire_UnmapsFreeSpace) {
  RegionSpace space(Bytes{64ULL << 20});
  unsigned char* blocks[5];
  for (auto& block : blocks) block = static_cast<unsigned char*>(space.allocate(k_granule));
  std::memset(blocks[2], 7, k_granule);
  for (const int freed : {0, 1, 3}) space.release(blocks[freed]);
  const auto is_mapped = [](void* address) {
    unsigned char page = 0;
    return mincore(address, k_granule, &page) == 0;
  };
  space.retire();
  space.retire();
  for (const int freed : {0, 1, 3}) EXPECT_FALSE(is_mapped(blocks[freed])) << freed;
  EXPECT_FALSE(is_mapped(blocks[4] + k_granule));
  EXPECT_FALSE(is_mapped(blocks[0] + (63ULL << 20)));
  EXPECT_EQ(space.allocate(k_granule), nullptr);
  EXPECT_EQ(std::count(blocks[2], blocks[2] + k_granule, 7), static_cast<long>(k_granule));
  EXPECT_EQ(space.release(blocks[2]), k_granule);
  EXPECT_FALSE(is_mapped(blocks[2]));
  EXPECT_TRUE(space.contains(blocks[4]));
  EXPECT_FALSE(space.contains(blocks[4] + k_granule));
}

TEST(RegionSpace, Release_ReturnsPages) {
  RegionSpace space(Bytes{128ULL << 20});
  constexpr std::size_t k_size = 64 * k_granule;
  auto* const block = static_cast<unsigned char*>(space.allocate(k_size));
  std::memset(block, 1, k_size);
  const auto resident = [&] {  // as reported by the kernel
    std::vector<unsigned char> pages(k_size / k_granule);
    EXPECT_EQ(mincore(block, k_size, pages.data()), 0);
    return std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; });
  };
  EXPECT_EQ(resident(), 64);
  space.release(block);
  EXPECT_EQ(resident(), 0);
}

// Counts the resident pages from `address` on, by mincore(2).
std::size_t present(const void* address, std::size_t size) {
  std::vector<unsigned char> pages(size / k_granule);
  EXPECT_EQ(mincore(const_cast<void*>(address), size, pages.data()), 0);
  return static_cast<std::size_t>(
      std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; }));
}

TEST(RegionSpace, NeighbouringHugePage_LeavesNoPagesInBlock) {
  constexpr std::size_t k_huge = 2u << 20;
  RegionSpace space(Bytes{64 << 20});
  auto* const base = static_cast<char*>(space.allocate(k_huge));
  ASSERT_EQ(madvise(base, k_huge, MADV_HUGEPAGE), 0);
  space.release(base);
  constexpr std::size_t k_small = 16 * k_granule;
  auto* const first = static_cast<char*>(space.allocate(k_small));
  ASSERT_EQ(first, base);
  *first = 1;
  ASSERT_EQ(present(base, k_huge), k_huge / k_granule) << "the kernel gave no huge page: this test shows nothing";
  auto* const second = static_cast<char*>(space.allocate(k_small));
  ASSERT_EQ(second, base + k_small);
  EXPECT_EQ(present(second, k_small), 0u) << "it has no pages before its first touch";
  EXPECT_TRUE(space.resize(second, 2 * k_small));
  EXPECT_EQ(present(second, 2 * k_small), 0u);
  *second = 2;
  EXPECT_EQ(*first, 1);
  space.release(first);
  EXPECT_EQ(*second, 2) << "the neighbour's content stays";
  space.release(second);
  EXPECT_EQ(present(base, k_huge), 0u) << "the rest of the huge page is freed";
}

TEST(RegionSpace, RetainedBlock_IsReusedWithPages) {
  constexpr std::size_t k_size = 64 * k_granule;
  RegionSpace space(Bytes{64ULL << 20});
  auto* const block = static_cast<char*>(space.allocate(k_size));
  std::memset(block, 1, k_size);
  EXPECT_EQ(space.retain(block), k_size);
  EXPECT_EQ(space.retain(block), 0U) << "freed twice";
  EXPECT_EQ(space.find(block).size, 0U);
  EXPECT_EQ(space.in_use().value, 0U);
  EXPECT_EQ(present(block, k_size), 64U);
  EXPECT_NE(space.allocate(k_size), block) << "allocate() returns blocks without pages";
  EXPECT_EQ(space.reuse(k_size / 2), nullptr) << "another size";
  EXPECT_EQ(space.reuse(k_size - 1), block) << "the same granules";
  EXPECT_EQ(present(block, k_size), 64U);
  EXPECT_EQ(space.reuse(k_size), nullptr) << "each block once";
  EXPECT_EQ(space.release(block), k_size);
  EXPECT_EQ(present(block, k_size), 0U);
}

// The kernel's count of resident pages never exceeds the limit, and blocks beyond it lose theirs, oldest first.
TEST(RegionSpace, RetainedBlocks_StayWithinLimits) {
  constexpr std::size_t k_size = RegionSpace::k_max_retained / 4;
  RegionSpace space(Bytes{512ULL << 20});
  std::vector<void*> blocks;
  for (int i = 0; i < 6; ++i) {
    blocks.push_back(space.allocate(k_size));
    std::memset(blocks.back(), 1, k_size);
  }
  for (void* const block : blocks) space.retain(block);
  for (std::size_t i = 0; i < blocks.size(); ++i)
    EXPECT_EQ(present(blocks[i], k_size), i < 2 ? 0U : k_size / k_granule) << i;
  auto* const large = static_cast<char*>(space.allocate(RegionSpace::k_max_retained_block + 1));
  *large = 1;
  space.retain(large);
  EXPECT_EQ(present(large, k_granule), 0U) << "larger than any that is retained";
  EXPECT_NE(space.allocate(480ULL << 20), nullptr) << "retained blocks give way";
  for (void* const block : blocks) EXPECT_EQ(space.reuse(k_size), nullptr) << block;
}

TEST(RegionSpace, RetainedBlocks_RandomHistory_AreDisjointFromOthers) {
  RegionSpace space(Bytes{256ULL << 20});
  std::mt19937 random(11);
  struct Held {
    std::uint32_t* address;
    std::size_t size;
    std::uint32_t pattern;
  };
  std::vector<Held> held;
  std::size_t num_reused = 0;
  for (std::uint32_t step = 1; step < 20'000; ++step) {
    if (held.size() < 30) {
      const std::size_t size = (1 + random() % 8) << (12 + random() % 9);
      auto* block = static_cast<std::uint32_t*>(space.reuse(size));
      if (block) {
        ++num_reused;
      } else {
        block = static_cast<std::uint32_t*>(space.allocate(size));
        if (!block) continue;
        ASSERT_EQ(block[0] | block[size / 4 - 1], 0U);
      }
      block[0] = block[size / 4 - 1] = step;
      held.push_back({block, size, step});
    } else {
      std::swap(held[random() % held.size()], held.back());
      const auto [block, size, pattern] = held.back();
      held.pop_back();
      ASSERT_EQ(block[0], pattern);
      ASSERT_EQ(block[size / 4 - 1], pattern);
      ASSERT_EQ(random() % 2 == 0 ? space.retain(block) : space.release(block), size);
    }
  }
  EXPECT_GT(num_reused, 1000U);
}

TEST(RegionSpace, ReleasePart_AndAllocateAt) {
  RegionSpace space(Bytes{64ULL << 20});
  auto* const first = static_cast<unsigned char*>(space.allocate(8 * k_granule));
  auto* const second = static_cast<unsigned char*>(space.allocate(4 * k_granule));
  ASSERT_EQ(second, first + 8 * k_granule);
  const auto at = [&](std::size_t granule) {
    return reinterpret_cast<std::uint64_t>(first) + granule * k_granule;
  };
  std::memset(first, 1, 12 * k_granule);
  space.release_part(at(2), 3 * k_granule);  // the middle of the first
  space.release_part(at(7), 2 * k_granule);  // over the boundary
  EXPECT_EQ(space.in_use().value, 7 * k_granule);
  EXPECT_EQ(space.find(first).size, 2 * k_granule);
  EXPECT_EQ(space.find(first + 3 * k_granule).size, 0U);
  EXPECT_EQ(space.find(first + 6 * k_granule).size, 2 * k_granule);
  EXPECT_EQ(space.find(first + 9 * k_granule).size, 3 * k_granule);
  EXPECT_FALSE(space.allocate_at(at(4), 2 * k_granule)) << "the second is taken";
  EXPECT_TRUE(space.allocate_at(at(3), 2 * k_granule));
  EXPECT_EQ(first[3 * k_granule], 0) << "allocated memory is zero";
  EXPECT_EQ(first[5 * k_granule], 1);
  space.release_part(at(0), 12 * k_granule);
  EXPECT_EQ(space.in_use().value, 0U);
  EXPECT_EQ(space.allocate(12 * k_granule), first) << "and it is one free range again";
}

TEST(RegionSpace, ConcurrentThreads_GetDistinctBlocks) {
  RegionSpace space(Bytes{1ULL << 30});
  std::vector<std::thread> threads;
  for (unsigned id = 1; id <= 4; ++id)
    threads.emplace_back([&space, id] {
      std::mt19937 random(id);
      std::vector<std::pair<std::uint32_t*, std::size_t>> held;
      for (int step = 0; step < 2000; ++step) {
        if (held.size() < 20) {
          const std::size_t words = 1024 + random() % 50'000;
          auto* const block = static_cast<std::uint32_t*>(space.allocate(words * 4));
          ASSERT_NE(block, nullptr);
          block[0] = block[words - 1] = id;
          held.emplace_back(block, words);
        } else {
          std::swap(held[random() % held.size()], held.back());
          ASSERT_EQ(held.back().first[0], id);
          ASSERT_EQ(held.back().first[held.back().second - 1], id);
          ASSERT_GT(space.release(held.back().first), 0U);
          held.pop_back();
        }
      }
      for (const auto& [block, words] : held) space.release(block);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(space.in_use().value, 0U);
}

}  // namespace
}  // namespace terrace::memory
