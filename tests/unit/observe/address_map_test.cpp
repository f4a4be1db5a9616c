// Compares the address map with a map of every page on random histories, and tests that canonical addresses do not
// depend on host addresses.
#include "observe/objects/address_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "core/rounding.hpp"

namespace terrace::observe {
namespace {

TEST(AddressMap, LookUp_OnlyAddedRangesFound) {
  AddressMap map;
  const std::uint64_t canonical = map.add_range(0x10000, 0x3000);
  Location at;
  EXPECT_FALSE(map.find(0xffff, at));
  EXPECT_FALSE(map.find(0x13000, at));
  ASSERT_TRUE(map.find(0x12fff, at));
  EXPECT_EQ(0x12fff + at.delta, canonical + 0x2fff);
  EXPECT_EQ(at.chunk, memory::k_no_chunk);
}

TEST(AddressMap, CanonicalAddress_KeepsPageOffset) {
  AddressMap map;
  map.add_range(0x7f0000001230, 100);
  EXPECT_EQ(map.add_range(0x7f0000005670, 5000) % k_page, 0x670u);
}

TEST(AddressMap, AddAt_UsesGivenCanonicalAddress) {
  AddressMap map;
  const std::uint64_t room = map.add_range(0x10000, 0x2000, 0x100000);
  ASSERT_TRUE(map.add_at(0x10123, 10, room + 0x40000));
  ASSERT_TRUE(map.add_at(0x1012d, 7, room + 0x40040));
  EXPECT_FALSE(map.add_at(0x11000, 100, room + 0x40046)) << "other memory lies there";
  Location at;
  ASSERT_TRUE(map.find(0x1012c, at));
  EXPECT_EQ(0x1012c + at.delta, room + 0x40009);
  EXPECT_EQ(at.high, 0x1012du);
  ASSERT_TRUE(map.find(0x1012d, at));
  EXPECT_EQ(0x1012d + at.delta, room + 0x40040);
  ASSERT_TRUE(map.find(0x11000, at));
  EXPECT_EQ(0x11000 + at.delta, room + 0x1000);
}

TEST(AddressMap, RangeWithSeveralChunks_EachIsFound) {
  AddressMap map;
  map.add_range(0x100000, 8 * k_page);
  map.set_chunk(0x100000, 2 * k_page, 7);
  map.set_chunk(0x102000, 3 * k_page, 8);
  Location at;
  ASSERT_TRUE(map.find(0x101fff, at));
  EXPECT_EQ(at.chunk, 7u);
  ASSERT_TRUE(map.find(0x104fff, at));
  EXPECT_EQ(at.chunk, 8u);
  EXPECT_EQ(at.origin, 0x102000u);
  EXPECT_EQ(at.low, 0x102000u);
  EXPECT_EQ(at.high, 0x105000u);
  ASSERT_TRUE(map.find(0x105000, at));
  EXPECT_EQ(at.chunk, memory::k_no_chunk);
}

TEST(AddressMap, ReuseDelta_BelongsToChunk) {
  AddressMap map;
  const auto base = map.add_range(0x100000, 8 * k_page);
  map.set_chunk(0x100000, 2 * k_page, 7);
  map.set_chunk(0x102000, 6 * k_page, 8, 0x5000);
  map.remove_range(0x104000, k_page);
  Location at;
  ASSERT_TRUE(map.find(0x101fff, at));
  EXPECT_EQ(at.reuse_delta, 0u);
  std::uint32_t generation = 0;
  for (const std::uint64_t page : {2, 3, 5, 7}) {
    ASSERT_TRUE(map.find(0x100000 + page * k_page, at));
    EXPECT_EQ(at.reuse_delta, 0x5000u) << page;
    ASSERT_TRUE(map.find_canonical(base + page * k_page, at, generation));
    EXPECT_EQ(at.reuse_delta, 0x5000u) << page;
  }
}

TEST(AddressMap, RemovedRange_IsNotFoundEitherWay) {
  AddressMap map;
  const std::uint64_t canonical = map.add_range(0x200000, 4 * k_page);
  map.set_chunk(0x200000, 4 * k_page, 1);
  map.remove_range(0x201000, k_page);
  Location at;
  std::uint32_t generation = 0;
  EXPECT_FALSE(map.find(0x201000, at));
  EXPECT_FALSE(map.find_canonical(canonical + k_page, at, generation));
  ASSERT_TRUE(map.find_canonical(canonical + 2 * k_page, at, generation));
  EXPECT_EQ(at.chunk, 1u);
  EXPECT_EQ(at.origin, canonical);
  // A host range that is added again is new memory.
  EXPECT_NE(map.add_range(0x201000, k_page), canonical + k_page);
}

TEST(AddressMap, Extend_WithinReserve_KeepsDelta) {
  AddressMap map;
  const std::uint64_t heap = map.add_range(0x300000, k_page, 64 * k_page);
  const std::uint64_t next = map.add_range(0x900000, k_page);
  EXPECT_GE(next, heap + 64 * k_page);
  ASSERT_TRUE(map.extend(0x300000, 0x301000, 2 * k_page));
  Location at;
  ASSERT_TRUE(map.find(0x302fff, at));
  EXPECT_EQ(0x302fff + at.delta, heap + 0x2fff);
  EXPECT_FALSE(map.extend(0x5000, 0x6000, k_page));
}

TEST(AddressMap, Extend_BeyondReserve_TakesFromNextRange) {
  AddressMap map;
  map.add_range(0x300000, k_page);
  map.add_range(0x900000, k_page);
  ASSERT_TRUE(map.extend(0x300000, 0x301000, 2 * k_page));
  Location at;
  EXPECT_FALSE(map.find(0x900000, at));
}

TEST(AddressMap, Stack_IsRelativeToReference) {
  // Two runs with stacks at different addresses, environments of different sizes and different limits.
  AddressMap a, b;
  const std::uint64_t main_a = 0x7ffd12345670, main_b = 0x7ffe00fedcb0;
  EXPECT_EQ(a.add_stack(main_a - (8 << 20), main_a, main_a + 3000),
            b.add_stack(main_b - (16 << 20), main_b, main_b + 70000));
  EXPECT_EQ(a.add_range(0x1000, 10), b.add_range(0x1000, 10));
  Location in_a, in_b;
  ASSERT_TRUE(a.find(main_a - 100000, in_a));
  ASSERT_TRUE(b.find(main_b - 100000, in_b));
  EXPECT_EQ(main_a - 100000 + in_a.delta, main_b - 100000 + in_b.delta);
  ASSERT_TRUE(a.find(main_a + 2999, in_a));
}

// The chunk and the canonical address of every page of a small address space.
struct PageModel {
  std::uint64_t canonical = 0;
  ChunkId chunk = memory::k_no_chunk;
  std::uint64_t origin = 0;
};

// Applies one history at a base; returns the canonical addresses and chunks of all pages at its end.
std::vector<std::pair<std::uint64_t, ChunkId>> random_history(std::uint64_t base, std::uint64_t seed, bool check) {
  constexpr std::uint64_t k_pages = 256;
  std::mt19937_64 random(seed);
  AddressMap map;
  std::map<std::uint64_t, PageModel> model;
  ChunkId next = 0;
  for (int step = 0; step < 2000; ++step) {
    const std::uint64_t first = random() % k_pages;
    const std::uint64_t count = 1 + random() % std::min<std::uint64_t>(k_pages - first, 40);
    const std::uint64_t low = base + first * k_page;
    switch (random() % 4) {
      case 0: {
        const std::uint64_t canonical = map.add_range(low, count * k_page);
        for (std::uint64_t i = 0; i < count; ++i) {
          model[first + i] = {canonical + i * k_page, memory::k_no_chunk, low};
        }
        break;
      }
      case 1:
        map.remove_range(low, count * k_page);
        for (std::uint64_t i = 0; i < count; ++i) model.erase(first + i);
        break;
      default:
        map.set_chunk(low, count * k_page, next);
        for (std::uint64_t i = 0; i < count; ++i) {
          if (const auto at = model.find(first + i); at != model.end())
            at->second = {at->second.canonical, next, low};
        }
        ++next;
        break;
    }
    if (!check) continue;
    for (int probe = 0; probe < 8; ++probe) {
      const std::uint64_t page = random() % k_pages;
      const std::uint64_t address = base + page * k_page + random() % k_page;
      Location at;
      const auto expected = model.find(page);
      EXPECT_EQ(map.find(address, at), expected != model.end());
      if (expected == model.end()) continue;
      EXPECT_EQ(address + at.delta, expected->second.canonical + address % k_page);
      EXPECT_EQ(at.chunk, expected->second.chunk);
      if (at.chunk != memory::k_no_chunk) {
        EXPECT_EQ(at.origin, expected->second.origin);
      }
      EXPECT_TRUE(at.low <= address && address < at.high);
      Location back;
      std::uint32_t generation = 0;
      EXPECT_TRUE(map.find_canonical(address + at.delta, back, generation));
      EXPECT_EQ(back.chunk, at.chunk);
      EXPECT_EQ(back.low - back.delta, at.low);
    }
  }
  std::vector<std::pair<std::uint64_t, ChunkId>> all;
  for (std::uint64_t page = 0; page < k_pages; ++page) {
    Location at;
    if (map.find(base + page * k_page, at)) all.emplace_back(base + page * k_page + at.delta, at.chunk);
  }
  return all;
}

TEST(AddressMap, RandomChanges_EqualPageMap) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) random_history(0x7f1234560000, seed, true);
}

TEST(AddressMap, DifferentBase_SameCanonicalAddresses) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_EQ(random_history(0x7f1234560000, seed, false), random_history(0x555500001000, seed, false));
  }
}

TEST(AddressMap, ManyChunks_StayOrdered) {
  AddressMap map;
  constexpr std::uint64_t k_chunks = 20000;
  map.add_range(0x100000000, k_chunks * k_page);
  std::mt19937_64 random(4);
  std::vector<std::uint32_t> order(k_chunks);
  for (std::uint32_t i = 0; i < k_chunks; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  for (const std::uint32_t i : order) map.set_chunk(0x100000000 + i * k_page, k_page, i);
  Location at;
  for (std::uint32_t i = 0; i < k_chunks; ++i) {
    ASSERT_TRUE(map.find(0x100000000 + i * k_page + 5, at));
    ASSERT_EQ(at.chunk, i);
  }
}

TEST(AddressMap, ConcurrentReaders_NeverSeeWrongResult) {
  // Unchanged ranges are always found while a writer changes others.
  AddressMap map;
  constexpr std::uint64_t k_fixed = 64;
  for (std::uint64_t i = 0; i < k_fixed; ++i) {
    map.add_range(0x10000000 + i * 0x100000, k_page);
    map.set_chunk(0x10000000 + i * 0x100000, k_page, static_cast<ChunkId>(i));
  }
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> found{0}, wrong{0};
  std::thread reader([&] {
    for (std::uint64_t i = 0; !done.load(std::memory_order_relaxed) || i < 1000; ++i) {
      Location at;
      const std::uint64_t k = i % k_fixed;
      if (map.find(0x10000000 + k * 0x100000 + 8, at) && at.chunk == k) {
        found.fetch_add(1, std::memory_order_relaxed);
      } else {
        wrong.fetch_add(1, std::memory_order_relaxed);
      }
    }
  });
  std::mt19937_64 random(5);
  for (int step = 0; step < 20000; ++step) {
    const std::uint64_t low = 0x10000000 + (random() % k_fixed) * 0x100000 + 0x10000;
    if (random() % 2 == 0) {
      map.add_range(low, (1 + random() % 16) * k_page);
    } else {
      map.remove_range(low, (1 + random() % 16) * k_page);
    }
  }
  done = true;
  reader.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_GE(found.load(), 1000u);
}

}  // namespace
}  // namespace terrace::observe
