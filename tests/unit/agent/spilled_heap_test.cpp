// Tests spilled blocks: maximum amount, reuse, growth and protection.
#include "agent/heap/spilled_heap.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "strategy/spill/belady_policy.hpp"

namespace terrace::agent {
namespace {

constexpr std::size_t k_mib = std::size_t{1} << 20;

std::uint64_t address_space() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

// Both engines: chunks moved by Terrace, and kernel paging.
class SpilledHeapTest : public testing::TestWithParam<bool> {
 protected:
  // Lives as long as the process, as in a program. Null if the system lacks support: the test is then skipped.
  SpilledHeap* make(Bytes reserve, Bytes memory) {
    transfer::SpillEngine::Parts parts;
    parts.paged = GetParam();
    parts.memory = memory;
    parts.folder = "/var/tmp";
    parts.counts = &counts_;
    parts.make_policy = []() -> std::unique_ptr<transfer::ReplacementPolicy> {
      return std::make_unique<strategy::BeladyPolicy>();
    };
    parts.say = [](const char* sentence) { std::fprintf(stderr, "%s\n", sentence); };
    try {
      static auto& living = *new std::vector<SpilledHeap*>;
      return living.emplace_back(new SpilledHeap(reserve, parts));
    } catch (const Error& error) {
      if (std::string(error.what()).find("needs Linux") == std::string::npos) throw;
      return nullptr;
    }
  }
  static transfer::SpillCounts& living_counts() {
    static auto& living = *new std::vector<transfer::SpillCounts*>;
    return *living.emplace_back(new transfer::SpillCounts{});
  }
  transfer::SpillCounts& counts_ = living_counts();  // the thread goes on with it
};

// A disk of 50 TiB, as of a cluster's file system, and one that reports the maximum size.
TEST_P(SpilledHeapTest, MaxData_LargeDisk_FitsTheAddressSpace) {
  for (const auto disk : {Bytes{50ULL << 40}, Bytes{~std::uint64_t{0}}}) {
    const auto before = address_space();
    auto* const heap = make(SpilledHeap::max_data(Bytes{1ULL << 30}, disk), Bytes{1ULL << 30});
    if (!heap) GTEST_SKIP() << "no userfaultfd";
    EXPECT_LT(address_space() - before, 20ULL << 40);
    auto* const block = static_cast<char*>(heap->allocate(64 * k_mib, 1));
    ASSERT_NE(block, nullptr);
    for (std::size_t i = 0; i < 64 * k_mib; i += 4096) block[i] = 1;
    EXPECT_TRUE(heap->release(block));
  }
}

// A freed block is reused for the next one of its size, with its pages and without the engine's thread, and
// zeroed if requested. Nothing is cached when memory is scarce.
TEST_P(SpilledHeapTest, Allocate_SameSize_ReusesTheFreedBlock) {
  auto* const heap = make(Bytes{2ULL << 30}, Bytes{256 * k_mib});
  if (!heap) GTEST_SKIP() << "no userfaultfd";
  constexpr std::size_t k_size = 6 * k_mib;
  auto* const first = static_cast<char*>(heap->allocate(k_size, 1, false));
  std::fill_n(first, k_size, 7);
  const auto touches = counts_.touches.load();
  for (int round = 0; round < 50; ++round) {
    ASSERT_TRUE(heap->release(first));
    const bool zeros = round % 2 == 0;
    auto* const again = static_cast<char*>(heap->allocate(k_size, 1, zeros));
    ASSERT_EQ(again, first);
    if (zeros) {
      ASSERT_EQ(std::count(again, again + k_size, 0), static_cast<long>(k_size));
    }
    std::fill_n(again, k_size, 7);
  }
  EXPECT_EQ(counts_.touches, touches);
  ASSERT_TRUE(heap->release(first));
  auto* const other = heap->allocate(8 * k_mib, 1);
  EXPECT_NE(other, first) << "of another size";
  EXPECT_TRUE(heap->release(other));
  EXPECT_GT(counts_.content, 0U);
  auto* const large = static_cast<char*>(heap->allocate(300 * k_mib, 1));
  for (std::size_t i = 0; i < 300 * k_mib; i += 2 * k_mib) large[i] = 1;
  auto* const new_one = static_cast<char*>(heap->allocate(k_size, 1));
  EXPECT_EQ(new_one[5], 0);
  EXPECT_TRUE(heap->release(new_one));
  EXPECT_TRUE(heap->release(large));
  EXPECT_EQ(counts_.content, 0U);
}

TEST_P(SpilledHeapTest, Grow_FreeSpaceBehind_KeepsTheAddress) {
  auto* const heap = make(Bytes{2ULL << 30}, Bytes{256 * k_mib});
  if (!heap) GTEST_SKIP() << "no userfaultfd";
  auto* const block = static_cast<char*>(heap->allocate(5 * k_mib, 1));
  std::fill_n(block, 6 * k_mib, 7);
  ASSERT_TRUE(heap->grow(block, 11 * k_mib));
  EXPECT_EQ(heap->size_of(block), 12 * k_mib);
  EXPECT_EQ(std::count(block, block + 6 * k_mib, 7), static_cast<long>(6 * k_mib));
  EXPECT_EQ(std::count(block + 6 * k_mib, block + 12 * k_mib, 0), static_cast<long>(6 * k_mib));
  auto* const behind = heap->allocate(4 * k_mib, 1);
  EXPECT_FALSE(heap->grow(block, 13 * k_mib));
  EXPECT_EQ(heap->size_of(block), 12 * k_mib);
  EXPECT_TRUE(heap->release(behind));
  EXPECT_TRUE(heap->release(block));
}

// Returns whether the kernel can read and write there for the program.
bool can_be_used(char* at) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const bool used = write(ends[1], at, 1) == 1 && read(ends[0], at, 1) == 1;
  for (const int end : ends) close(end);
  return used;
}

// As without Terrace: unmapped and freed memory is inaccessible, and reused addresses are zero.
TEST_P(SpilledHeapTest, Unmap_ThenAccess_Faults) {
  auto* const heap = make(Bytes{2ULL << 30}, Bytes{256 * k_mib});
  if (!heap) GTEST_SKIP() << "no userfaultfd";
  auto* const mapped = static_cast<char*>(heap->map(32 * k_mib));
  std::fill_n(mapped, 32 * k_mib, 7);
  ASSERT_EQ(heap->unmap(mapped + 6 * k_mib, 4 * k_mib), 0);
  EXPECT_TRUE(can_be_used(mapped + 5 * k_mib));
  for (const auto at : {6, 8, 9}) EXPECT_FALSE(can_be_used(mapped + at * k_mib)) << at;
  EXPECT_TRUE(can_be_used(mapped + 10 * k_mib));
  constexpr int k_fixed = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  ASSERT_EQ(heap->map_over(mapped + 8 * k_mib, 2 * k_mib, PROT_READ | PROT_WRITE, k_fixed, -1, 0), 0);
  EXPECT_TRUE(can_be_used(mapped + 8 * k_mib));
  EXPECT_EQ(mapped[9 * k_mib], 0);
  EXPECT_FALSE(can_be_used(mapped + 6 * k_mib));
  void* place = mapped + 10 * k_mib;
  ASSERT_EQ(heap->remap(place, 22 * k_mib, 10 * k_mib, 0), 0);
  EXPECT_TRUE(can_be_used(mapped + 19 * k_mib));
  EXPECT_FALSE(can_be_used(mapped + 21 * k_mib));
  ASSERT_EQ(heap->remap(place, 10 * k_mib, 22 * k_mib, 0), 0);
  EXPECT_EQ(std::count(mapped + 20 * k_mib, mapped + 32 * k_mib, 0), static_cast<long>(12 * k_mib));
  std::fill_n(mapped + 20 * k_mib, 12 * k_mib, 7);
  ASSERT_EQ(heap->unmap(mapped, 32 * k_mib), 0);
  for (int at = 0; at < 32; ++at) ASSERT_FALSE(can_be_used(mapped + at * k_mib)) << at;
  auto* const block = static_cast<char*>(heap->allocate(32 * k_mib, 1));
  ASSERT_EQ(block, mapped);
  EXPECT_EQ(std::count(block, block + 32 * k_mib, 0), static_cast<long>(32 * k_mib));
  EXPECT_TRUE(heap->release(block));
  EXPECT_FALSE(can_be_used(block)) << "it is too large to be kept";
}

INSTANTIATE_TEST_SUITE_P(Engines, SpilledHeapTest, testing::Bool(),
                         [](const auto& instance) { return instance.param ? "paged" : "moved"; });

}  // namespace
}  // namespace terrace::agent
