// Tests spilled small blocks with both engines: contents, owners and release.
#include "agent/heap/spilled_small.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "strategy/spill/belady_policy.hpp"
#include "transfer/spill/spill.hpp"

namespace terrace::agent {
namespace {

constexpr std::size_t k_mib = std::size_t{1} << 20;
constexpr Bytes k_memory{64 * k_mib};

// The arena is global, so that all tests share the heap that the first one makes.
struct HeapUnderTest {
  transfer::SpillCounts counts{};
  std::unique_ptr<SpilledHeap> heap;
  std::unique_ptr<SpilledSmall> small;
};

HeapUnderTest* living() {
  static HeapUnderTest* const all = [] {
    auto* made = new HeapUnderTest;
    transfer::SpillEngine::Parts parts;
    parts.memory = k_memory;
    parts.folder = "/var/tmp";
    parts.counts = &made->counts;
    parts.make_policy = []() -> std::unique_ptr<transfer::ReplacementPolicy> {
      return std::make_unique<strategy::BeladyPolicy>();
    };
    parts.say = [](const char* sentence) { std::fprintf(stderr, "%s\n", sentence); };
    parts.paged = transfer::Spill::problem_here() != 0;
    made->heap = std::make_unique<SpilledHeap>(Bytes{4ULL << 30}, parts);
    made->small = std::make_unique<SpilledSmall>(*made->heap);
    return made;
  }();
  return all;
}

struct Block {
  unsigned char* at = nullptr;
  std::size_t size = 0;
  unsigned char mark = 0;
};

bool is_whole(const Block& block) {
  return std::all_of(block.at, block.at + block.size, [&](unsigned char one) { return one == block.mark; });
}

// Free extents are discarded, because the file would otherwise be read and written needlessly. Must be the first
// test: others leave slabs in extents, and blocks in thread caches.
TEST(SpilledSmallTest, Release_WholeExtent_DiscardsItsPages) {
  auto* const all = living();
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < 120; ++i) {
    blocks.push_back(all->small->allocate(k_mib / 2, 1, false));
    std::memset(blocks.back(), 1, k_mib / 2);
  }
  const auto before = all->counts.content.load();
  for (auto* const one : blocks) SpilledSmall::release(one);
  all->heap->release(all->heap->allocate(4 * k_mib, 1));  // the account is kept with calls
  if (!all->counts.paged) {
    EXPECT_LE(all->counts.content.load() + 40 * k_mib, before);
  }
}

// Three times the memory in blocks of all sizes; each keeps its contents despite evictions.
void live(unsigned seed, std::size_t bytes, int steps) {
  auto& small = *living()->small;
  std::mt19937_64 random(seed);
  std::vector<Block> blocks;
  std::size_t held = 0;
  for (int i = 0; i < steps; ++i) {
    if (held > bytes || (!blocks.empty() && random() % 3 == 0)) {
      auto& one = blocks[random() % blocks.size()];
      ASSERT_TRUE(is_whole(one));
      held -= one.size;
      SpilledSmall::release(one.at);
      one = blocks.back();
      blocks.pop_back();
      continue;
    }
    const auto size = std::size_t{1} << (random() % 21);
    Block block{nullptr, 1 + random() % size, static_cast<unsigned char>(random())};
    const auto alignment = std::size_t{1} << (random() % 13);
    const bool zeros = random() % 2 == 0;
    ASSERT_TRUE(SpilledSmall::fits(block.size, alignment));
    block.at = static_cast<unsigned char*>(small.allocate(block.size, alignment, zeros));
    ASSERT_NE(block.at, nullptr);
    ASSERT_EQ(reinterpret_cast<std::uint64_t>(block.at) % alignment, 0U);
    ASSERT_TRUE(small.contains(block.at));
    ASSERT_GE(SpilledSmall::size_of(block.at), block.size);
    if (zeros) {
      ASSERT_TRUE(is_whole({block.at, block.size, 0}));
    }
    std::memset(block.at, block.mark, block.size);
    held += block.size;
    blocks.push_back(block);
  }
  for (const auto& one : blocks) {
    ASSERT_TRUE(is_whole(one));
    SpilledSmall::release(one.at);
  }
}

TEST(SpilledSmallTest, RandomHistory_AllBlocks_KeepTheirContents) {
  live(1, 3 * k_memory.value, 4000);
  if (!living()->counts.paged) {
    EXPECT_GT(living()->counts.read.load(), 0U) << "it was more than the memory";
  }
}

TEST(SpilledSmallTest, ConcurrentHistories_AllBlocks_KeepTheirContents) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 3; ++i)
    threads.emplace_back([i] {
      live(10 + i, k_memory.value, 1200);
      memory::BlockArena::on_thread_exit();
    });
  for (auto& one : threads) one.join();
}

TEST(SpilledSmallTest, Contains_ForeignAddress_IsFalse) {
  auto* const all = living();
  int here = 0;
  EXPECT_FALSE(all->small->contains(&here));
  auto* const big = all->heap->allocate(8 * k_mib, 1);
  EXPECT_FALSE(all->small->contains(big));
  EXPECT_TRUE(all->heap->release(big));
}

}  // namespace
}  // namespace terrace::agent
