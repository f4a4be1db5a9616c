// Tests memory by intent on this machine's first node, which stands for several places: contents and accounting.
#include "agent/heap/ordered_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "support/real_memory.hpp"

namespace terrace::agent {
namespace {

using FillMode = OrderedHeap::FillMode;
constexpr std::size_t k_mib = std::size_t{1} << 20;

// A heap and its dependencies. They live as long as the process, as in a program: the heap's threads never end.
struct HeapUnderTest {
  explicit HeapUnderTest(std::vector<Bytes> budgets)
      : machine(tests::machine_on({0, 0, 0})), ledger(*page, std::move(budgets)) {
    OrderedHeap::Parts parts;
    parts.machine = &machine;
    parts.ledger = &ledger;
    parts.mark = 0;
    parts.counts = [this] { return &counts; };
    parts.enter = [] {};
    parts.say = [](const char* sentence) { std::fprintf(stderr, "%s\n", sentence); };
    heap.emplace(parts);
  }
  machine::Machine machine;
  std::unique_ptr<memory::LedgerPage> page = std::make_unique<memory::LedgerPage>();
  memory::Ledger ledger;
  memory::OrderedCounts counts;
  std::optional<OrderedHeap> heap;
};

HeapUnderTest& begin(std::vector<Bytes> budgets) {
  static auto& all = *new std::vector<std::unique_ptr<HeapUnderTest>>;
  return *all.emplace_back(std::make_unique<HeapUnderTest>(std::move(budgets)));
}

class OrderedHeapTest : public ::testing::Test {
 protected:
  explicit OrderedHeapTest(std::vector<Bytes> budgets = {{24 * k_mib}, {8 * k_mib}, {1 << 30}})
      : living_(begin(std::move(budgets))) {
    latency_ = heap_->find_intent("latency");
    bandwidth_ = heap_->find_intent("bandwidth");
  }
  [[nodiscard]] std::array<std::uint64_t, 3> held() const {
    return {ledger_.held(0).value / k_mib, ledger_.held(1).value / k_mib, ledger_.held(2).value / k_mib};
  }
  void expect_nothing_held() const {
    for (PlaceId place = 0; place < 3; ++place) {
      EXPECT_EQ(ledger_.held(place).value, 0U);
      EXPECT_EQ(ledger_.outstanding(place).value, 0U);
    }
    for (const auto& intent : counts_.intents)
      for (const auto& now : intent.now) EXPECT_EQ(now.load(), 0U);
  }
  static char* bytes(void* block) { return static_cast<char*>(block); }

  HeapUnderTest& living_;
  memory::Ledger& ledger_ = living_.ledger;
  memory::OrderedCounts& counts_ = living_.counts;
  OrderedHeap* heap_ = &*living_.heap;
  int latency_ = 0;
  int bandwidth_ = 0;
};

using Sizes = std::array<std::uint64_t, 3>;

TEST_F(OrderedHeapTest, Allocate_LargeBlock_FillsPlacesInOrder) {
  for (const auto when : {FillMode::eager, FillMode::on_touch}) {
    void* const block = heap_->allocate(40 * k_mib, 1, bandwidth_, when);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(held(), (when == FillMode::eager ? Sizes{24, 8, 8} : Sizes{0, 0, 0}));
    for (std::size_t at = 0; at < 40 * k_mib; at += k_page) ASSERT_EQ(bytes(block)[at]++, 0);
    // The last chunk is populated soon, or when a thread waits for it.
    while (ledger_.outstanding(2).value > 0) std::this_thread::yield();
    EXPECT_EQ(held(), (Sizes{24, 8, 8}));
    EXPECT_STREQ(heap_->where(block), "p0");
    EXPECT_STREQ(heap_->where(bytes(block) + 25 * k_mib), "p1");
    EXPECT_STREQ(heap_->where(bytes(block) + 39 * k_mib), "p2");
    EXPECT_TRUE(heap_->release(block));
    EXPECT_FALSE(heap_->release(block));
    EXPECT_EQ(heap_->where(block), nullptr);
    expect_nothing_held();
    EXPECT_EQ(counts_.intents[static_cast<std::size_t>(bandwidth_)].at_peak[1].load(), 8 * k_mib);
  }
}

TEST_F(OrderedHeapTest, Allocate_OnTouch_PopulatesOnlyTouchedChunks) {
  void* const block = heap_->allocate(64 * k_mib, 1, latency_, FillMode::on_touch);
  bytes(block)[33 * k_mib] = 1;
  bytes(block)[33 * k_mib + 5] = 1;
  const auto nodes = tests::kernel_nodes(reinterpret_cast<std::uint64_t>(block), 64 * k_mib / k_page);
  while (ledger_.held(0).value == 0 || ledger_.outstanding(0).value > 0) std::this_thread::yield();
  EXPECT_EQ(ledger_.held(0).value, 2 * k_mib);
  EXPECT_LE(std::ranges::count(nodes, 0), 512);
  EXPECT_TRUE(heap_->release(block));
  expect_nothing_held();
}

TEST_F(OrderedHeapTest, Apply_ToALazyBlock_PrecedesItsTouches) {
  void* const block = heap_->allocate(16 * k_mib, 1, latency_, FillMode::on_touch);
  bytes(block)[5 * k_mib] = 7;
  // Not at chunk boundaries: the rest of two chunks remains armed.
  const auto begin = reinterpret_cast<std::uint64_t>(block) + 3 * k_mib;
  EXPECT_EQ(heap_->apply(begin, 6 * k_mib, bandwidth_), 0);
  EXPECT_EQ(bytes(block)[5 * k_mib], 7);
  for (std::size_t at = 0; at < 16 * k_mib; at += k_page) bytes(block)[at] = 1;
  while (ledger_.outstanding(0).value > 0 || ledger_.held(0).value < 16 * k_mib) std::this_thread::yield();
  EXPECT_EQ(ledger_.held(0).value, 16 * k_mib) << "each page is on the account once";
  EXPECT_TRUE(heap_->release(block));
  expect_nothing_held();
}

// With free capacity in the first place: a freed block is reused with its pages.
class FreedBlocksTest : public OrderedHeapTest {
 protected:
  FreedBlocksTest() : OrderedHeapTest({{std::uint64_t{4} << 30}, {1 << 30}, {1 << 30}}) {}
  char* get(std::size_t mib, bool zeros = false) {
    return bytes(heap_->allocate(mib * k_mib, 1, latency_, FillMode::on_touch, zeros));
  }
};

TEST_F(FreedBlocksTest, Allocate_SameSizeAndIntent_ReusesTheFreedBlock) {
  auto* const first = get(16);
  for (std::size_t at = 0; at < 16 * k_mib; at += k_page) first[at] = 1;
  while (ledger_.outstanding(0).value > 0) std::this_thread::yield();
  ASSERT_TRUE(heap_->release(first));
  EXPECT_FALSE(heap_->release(first)) << "it is free";
  EXPECT_EQ(held()[0], 16U) << "its pages are still there";

  auto* const zeros = get(16, true);
  EXPECT_NE(zeros, first);
  EXPECT_EQ(zeros[0], 0);
  EXPECT_NE(heap_->allocate(16 * k_mib, 1, bandwidth_, FillMode::on_touch, false), first);
  EXPECT_NE(heap_->allocate(16 * k_mib, 1, latency_, FillMode::eager, false), first);
  EXPECT_NE(get(15), first);
  auto* const again = get(16);
  ASSERT_EQ(again, first);
  EXPECT_EQ(again[5 * k_page], 1);
  EXPECT_STREQ(heap_->where(again), "p0");
  EXPECT_NE(get(16), first) << "it is in use";
}

// Untouched parts of a reused block are placed at their first touch.
TEST_F(FreedBlocksTest, Allocate_CachedLazyBlock_StillPopulatesAtTouch) {
  auto* const first = get(32);
  first[0] = 1;
  ASSERT_TRUE(heap_->release(first));
  auto* const again = get(32);
  ASSERT_EQ(again, first);
  again[20 * k_mib] = 1;
  while (held()[0] < 4 || ledger_.outstanding(0).value > 0) std::this_thread::yield();
  EXPECT_EQ(held()[0], 4U);
}

TEST_F(FreedBlocksTest, Release_ManyOrLargeBlocks_AreUnmapped) {
  const auto touch = [](char* block, std::size_t mib) {
    for (std::size_t at = 0; at < mib * k_mib; at += k_page) block[at] = 1;
  };
  std::array<char*, 10> blocks{};
  for (auto& block : blocks) touch(block = get(10), 10);
  while (ledger_.outstanding(0).value > 0) std::this_thread::yield();
  for (auto* const block : blocks) EXPECT_TRUE(heap_->release(block));
  EXPECT_EQ(held()[0], 60U);
  auto* const large = get(65);
  touch(large, 65);
  while (ledger_.outstanding(0).value > 0) std::this_thread::yield();
  EXPECT_TRUE(heap_->release(large));
  EXPECT_EQ(held()[0], 60U);
}

// Blocks that are partly in another place, or whose memory may be needed, are not cached.
TEST_F(FreedBlocksTest, Allocate_LittleFreeMemory_UnmapsCachedBlocks) {
  auto* const applied = get(16);
  EXPECT_EQ(heap_->apply(reinterpret_cast<std::uint64_t>(applied) + 4 * k_mib, 4 * k_mib, bandwidth_), 0);
  EXPECT_TRUE(heap_->release(applied));
  EXPECT_EQ(held(), (Sizes{0, 0, 0}));
  auto* const kept = get(16);
  kept[0] = 1;
  while (held()[0] < 2 || ledger_.outstanding(0).value > 0) std::this_thread::yield();
  EXPECT_TRUE(heap_->release(kept));
  EXPECT_EQ(held()[0], 2U);
  // Only 100 MiB of the budget are left: the next block evicts cached ones.
  const auto others = (std::uint64_t{4} << 30) - 100 * k_mib;
  ASSERT_TRUE(ledger_.take(0, {others}));
  EXPECT_NE(get(8), nullptr);
  EXPECT_EQ(ledger_.held(0).value, others);
}

// Ranges of the program's own mappings.
class AppliedRangesTest : public OrderedHeapTest {
 protected:
  AppliedRangesTest() : OrderedHeapTest({{32 * k_mib}, {0}, {0}}) {}
  std::uint64_t apply(const tests::Mapping& map, std::size_t mib, int wanted = 0) {
    EXPECT_EQ(heap_->apply(map.address(), mib * k_mib, bandwidth_), wanted);
    return map.address();
  }
  [[nodiscard]] const char* where(std::uint64_t address) const {
    return heap_->where(reinterpret_cast<void*>(address));
  }
  [[nodiscard]] std::uint64_t counted() const {
    return counts_.intents[static_cast<std::size_t>(bandwidth_)].now[0].load() / k_mib;
  }
  [[nodiscard]] std::uint64_t left_to_kernel() const {
    return counts_.intents[static_cast<std::size_t>(bandwidth_)].at_peak[memory::k_counted_places].load() / k_mib;
  }
};

TEST_F(AppliedRangesTest, Apply_RangeWithHoles_ChargesOnlyMappedPages) {
  EXPECT_EQ(heap_->apply(k_page, 4 * k_mib, bandwidth_), EFAULT);
  expect_nothing_held();
  const tests::Mapping map(16 * k_mib, k_huge_page);
  ASSERT_EQ(::munmap(map.page(4 * k_mib / k_page), 8 * k_mib), 0);
  apply(map, 16, EFAULT);
  EXPECT_EQ(counted(), 8U) << "what is there is placed";
  EXPECT_EQ(left_to_kernel(), 0U);
  EXPECT_EQ(counts_.error.load(), 0);
}

TEST_F(AppliedRangesTest, OnUnmapped_AppliedRange_IsReleased) {
  const tests::Mapping map(16 * k_mib);
  EXPECT_FALSE(heap_->may_have_applied(map.address(), 16 * k_mib));
  const auto at = apply(map, 16);
  EXPECT_TRUE(heap_->may_have_applied(at + 16 * k_mib - 1, 1));
  EXPECT_FALSE(heap_->may_have_applied(at + 16 * k_mib, k_mib));
  heap_->on_unmapped(at + 4 * k_mib, 8 * k_mib);
  EXPECT_EQ(held()[0], 8U);
  EXPECT_EQ(counted(), 8U);
  EXPECT_STREQ(where(at + 4 * k_mib - 1), "p0");
  EXPECT_EQ(where(at + 4 * k_mib), nullptr);
  EXPECT_EQ(where(at + 12 * k_mib - 1), nullptr);
  EXPECT_STREQ(where(at + 12 * k_mib), "p0");
  heap_->on_unmapped(at - k_mib, 18 * k_mib);
  expect_nothing_held();
}

TEST_F(AppliedRangesTest, ReattachRanges_MovedMapping_KeepsItsPlaces) {
  const tests::Mapping map(16 * k_mib);
  const tests::Mapping other(16 * k_mib);
  const auto from = apply(map, 16);
  const auto to = other.address();
  const auto half = heap_->detach_ranges(from + 8 * k_mib, 8 * k_mib);
  EXPECT_EQ(held()[0], 16U) << "it stays on the account";
  ASSERT_EQ(::mremap(reinterpret_cast<void*>(from + 8 * k_mib), 8 * k_mib, 4 * k_mib,
                     MREMAP_MAYMOVE | MREMAP_FIXED, reinterpret_cast<void*>(to)),
            reinterpret_cast<void*>(to));
  heap_->reattach_ranges(half, from + 8 * k_mib, to, 4 * k_mib);
  EXPECT_EQ(held()[0], 12U);
  EXPECT_EQ(counted(), 12U);
  EXPECT_STREQ(where(to + 4 * k_mib - 1), "p0");
  EXPECT_EQ(where(to + 4 * k_mib), nullptr);
  EXPECT_EQ(where(from + 8 * k_mib), nullptr);
  EXPECT_TRUE(heap_->may_have_applied(to, k_page));
  heap_->on_unmapped(to, 8 * k_mib);
  heap_->on_unmapped(from, 16 * k_mib);
  expect_nothing_held();
}

// Unmapping without a notification, as by the C library for its own blocks.
TEST_F(AppliedRangesTest, Apply_AfterUnreportedUnmap_ReleasesTheOldRange) {
  for (int i = 0; i < 10; ++i) {
    const tests::Mapping map(8 * k_mib);
    const tests::Mapping in_between(8 * k_mib);
    const auto at = apply(map, 8);
    ASSERT_EQ(::munmap(map.page(0), 8 * k_mib), 0);
    EXPECT_EQ(where(at), nullptr);
    ASSERT_NE(
        ::mmap(map.page(0), 8 * k_mib, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
        MAP_FAILED);
    EXPECT_EQ(where(at), nullptr) << "something else is there";
    EXPECT_LE(held()[0], 8U);
  }
}

TEST_F(AppliedRangesTest, Apply_BeyondTheBudget_Fails) {
  const tests::Mapping fits(24 * k_mib);
  const tests::Mapping half(16 * k_mib);
  const tests::Mapping none(16 * k_mib);
  const tests::Mapping touched(16 * k_mib);
  apply(fits, 24);
  apply(half, 16, ENOMEM);
  EXPECT_EQ(held()[0], 32U);
  const auto at = apply(none, 16, ENOMEM);
  const auto nodes = tests::kernel_nodes(at, 16 * k_mib / k_page);
  EXPECT_EQ(std::ranges::count_if(nodes, [](int node) { return node >= 0; }), 0) << "nothing is populated";
  EXPECT_EQ(left_to_kernel(), 24U);
  touched.touch(0, 16 * k_mib / k_page);
  apply(touched, 16, ENOMEM);
  EXPECT_EQ(held()[0], 32U);
}

TEST_F(OrderedHeapTest, FindIntent_UnknownName_Throws) {
  EXPECT_THROW((void)heap_->find_intent("fast"), Error);
  EXPECT_THROW((void)heap_->find_intent(""), Error);
}

// Threads allocate, touch, apply and free at random on one heap. Contents are zero at first and not shared; at
// the end nothing is charged.
TEST_F(OrderedHeapTest, Allocate_ManyThreads_AccountsForEverything) {
  constexpr unsigned k_threads = 6;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < k_threads; ++number)
    threads.emplace_back([&, number] {
      std::mt19937 random(number);
      struct Mine {
        char* block;
        std::size_t pages;
        std::vector<bool> touched;
      };
      std::vector<Mine> mine;
      const auto mark = [&](std::size_t page) { return static_cast<char>(number * 31 + page % 89 + 1); };
      for (int step = 0; step < 400; ++step) {
        const auto what = random() % 8;
        if (mine.empty() || (what == 0 && mine.size() < 4)) {
          const auto pages = 1 + random() % 2000;
          const auto when = random() % 3 == 0 ? FillMode::eager : FillMode::on_touch;
          auto* const block =
              bytes(heap_->allocate(pages * k_page, 1, random() % 2 == 0 ? latency_ : bandwidth_, when));
          if (!block) {
            ++wrong;
            continue;
          }
          mine.push_back({block, pages, std::vector<bool>(pages)});
          continue;
        }
        auto& one = mine[random() % mine.size()];
        if (what == 1) {
          for (std::size_t page = 0; page < one.pages; ++page)
            if (one.touched[page] && one.block[page * k_page] != mark(page)) ++wrong;
          if (!heap_->release(one.block)) ++wrong;
          std::swap(one, mine.back());
          mine.pop_back();
        } else if (what == 2) {
          const auto first = random() % one.pages;
          const auto count = 1 + random() % (one.pages - first);
          const auto address = reinterpret_cast<std::uint64_t>(one.block) + first * k_page;
          // The budgets of the first places are too small for all data.
          if (const auto error = heap_->apply(address, count * k_page, latency_); error != 0 && error != ENOMEM)
            ++wrong;
        } else {
          for (int i = 0; i < 20; ++i) {
            const auto page = random() % one.pages;
            auto& byte = one.block[page * k_page];
            if (byte != (one.touched[page] ? mark(page) : 0)) ++wrong;
            byte = mark(page);
            one.touched[page] = true;
          }
        }
      }
      for (auto& one : mine)
        if (!heap_->release(one.block)) ++wrong;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  expect_nothing_held();
}

}  // namespace
}  // namespace terrace::agent
