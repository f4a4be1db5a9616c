// Tests of page sentinels: each first touch is reported, no access is lost, and memory operations of the program
// find the content.
#include "transfer/exchange/page_sentinels.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <random>
#include <thread>

#include "support/real_memory.hpp"

namespace terrace::transfer {
namespace {

using tests::Mapping;

constexpr std::size_t k_watched_size = k_huge_page;
constexpr ChunkId k_watched = 8;

class PageSentinelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Userfault(0).is_available()) GTEST_SKIP() << "this system does not let pages be watched";
    sentinels_ = std::make_unique<PageSentinels>(
        [](void* self, ChunkId chunk, std::uint64_t) noexcept {
          ++static_cast<PageSentinelsTest*>(self)->touched_.at(chunk);
        },
        this);
    huge_ = true;
    fill();
  }
  // Fills chunks with position-dependent values.
  void fill() {
    map_ = std::make_unique<Mapping>(k_watched * k_watched_size, k_watched_size);
    madvise(map_->page(0), k_watched * k_watched_size, huge_ ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    for (std::size_t i = 0; i < k_watched * k_in_chunk; ++i) numbers(0)[i] = i;
  }
  [[nodiscard]] std::uint64_t address(ChunkId chunk) const { return map_->address() + chunk * k_watched_size; }
  [[nodiscard]] volatile std::uint64_t* numbers(ChunkId chunk) const {
    return reinterpret_cast<volatile std::uint64_t*>(address(chunk));
  }
  bool arm(ChunkId chunk, std::size_t size = k_watched_size) {
    return sentinels_->arm(chunk, 0, address(chunk), size);
  }
  // The waiting thread continues before the callback.
  void expect_touched(ChunkId chunk, int times) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(100);
    while (touched_.at(chunk) < times && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    EXPECT_EQ(touched_.at(chunk), times) << chunk;
  }
  void expect_content() const {
    for (std::size_t i = 0; i < k_watched * k_in_chunk; ++i) ASSERT_EQ(numbers(0)[i], i);
  }

  static constexpr std::size_t k_in_chunk = k_watched_size / sizeof(std::uint64_t);
  bool huge_ = true;
  std::array<std::atomic<int>, k_watched> touched_{};
  std::unique_ptr<Mapping> map_;
  std::unique_ptr<PageSentinels> sentinels_;
};

TEST_F(PageSentinelsTest, FirstTouch_IsReportedOnce) {
  for (const bool huge : {true, false}) {
    huge_ = huge;
    fill();
    for (ChunkId chunk = 0; chunk < k_watched; ++chunk) ASSERT_TRUE(arm(chunk));
    for (ChunkId chunk = 0; chunk < k_watched; ++chunk) {
      const auto before = touched_.at(chunk).load();
      EXPECT_EQ(numbers(chunk)[chunk * 1000], chunk * (k_in_chunk + 1000)) << "in the middle of it";
      numbers(chunk)[0] = chunk * k_in_chunk;
      expect_touched(chunk, before + 1);
      if (chunk + 1 < k_watched) {
        EXPECT_EQ(touched_.at(chunk + 1), before) << "nobody touched it";
      }
    }
    expect_content();
  }
}

TEST_F(PageSentinelsTest, SystemCall_WaitsForPages) {
  ASSERT_TRUE(arm(1));
  ASSERT_TRUE(arm(2));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], reinterpret_cast<const void*>(address(1)), 64), 64);
  ASSERT_EQ(read(ends[0], reinterpret_cast<void*>(address(2) + 64), 64), 64);
  EXPECT_EQ(numbers(2)[8], k_in_chunk);
  expect_touched(1, 1);
  expect_touched(2, 1);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(PageSentinelsTest, Disarm_AttachesPagesAndReportsNothing) {
  for (ChunkId chunk = 0; chunk < k_watched; ++chunk) ASSERT_TRUE(arm(chunk));
  EXPECT_TRUE(sentinels_->disarm(2, 3));
  EXPECT_FALSE(sentinels_->disarm(2, 3));
  for (const auto node : tests::kernel_nodes(address(2), 3 * k_watched_size / k_page)) EXPECT_GE(node, 0);
  sentinels_.reset();
  for (const auto node : tests::kernel_nodes(address(0), k_watched * k_watched_size / k_page)) ASSERT_GE(node, 0);
  expect_content();
  for (ChunkId chunk = 0; chunk < k_watched; ++chunk) EXPECT_EQ(touched_.at(chunk), 0);
}

// fork(2) and madvise(2) find all pages attached; afterwards the sentinels are armed again.
TEST_F(PageSentinelsTest, SuspendedExchanges_PagesAreAttached) {
  ASSERT_TRUE(arm(0));
  ASSERT_TRUE(arm(1));
  suspend_exchanges();
  const auto child = fork();
  if (child == 0) {
    reset_exchanges_in_child();
    bool whole = true;
    for (std::size_t i = 0; i < k_watched * k_in_chunk; ++i) whole = whole && numbers(0)[i] == i;
    _exit(whole ? 0 : 1);
  }
  resume_exchanges();
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(touched_.at(0), 0);
  suspend_exchanges();
  ASSERT_EQ(madvise(reinterpret_cast<void*>(address(1)), k_watched_size, MADV_DONTNEED), 0);
  resume_exchanges();
  EXPECT_EQ(numbers(1)[5], 0U);
  EXPECT_EQ(numbers(0)[5], 5U);
  expect_touched(0, 1);
}

TEST_F(PageSentinelsTest, UntouchedPages_TrapAsWell) {
  madvise(reinterpret_cast<void*>(address(3)), k_watched_size, MADV_DONTNEED);
  ASSERT_TRUE(arm(3));
  EXPECT_EQ(numbers(3)[77], 0U);
  expect_touched(3, 1);
}

// The program protects a range with detached pages: it stays protected, and its content is restored.
TEST_F(PageSentinelsTest, ProtectedRange_KeepsProtectionAndContent) {
  ASSERT_TRUE(arm(4));
  ASSERT_EQ(mprotect(reinterpret_cast<void*>(address(4)), k_watched_size, PROT_READ), 0);
  EXPECT_EQ(numbers(4)[9], 4 * k_in_chunk + 9);
  expect_touched(4, 1);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "12345678", 8), 8);
  EXPECT_LT(read(ends[0], reinterpret_cast<void*>(address(4)), 8), 0) << "read-only";
  close(ends[0]);
  close(ends[1]);
  expect_content();
}

TEST_F(PageSentinelsTest, UnsupportedRange_IsRefused) {
  EXPECT_FALSE(sentinels_->arm(0, 0, address(0) + 1, k_page)) << "no whole page";
  auto* const shared = mmap(nullptr, k_page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const auto file = open("/proc/self/exe", O_RDONLY);
  auto* const from_file = mmap(nullptr, k_page, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  EXPECT_FALSE(sentinels_->arm(0, 0, reinterpret_cast<std::uint64_t>(from_file), k_page));
  static_cast<void>(sentinels_->arm(1, 0, reinterpret_cast<std::uint64_t>(shared), k_page));
  *static_cast<volatile char*>(shared) = 1;
  EXPECT_EQ(*static_cast<volatile char*>(shared), 1);
  munmap(shared, k_page);
  munmap(from_file, k_page);
  close(file);
  Mapping pages((PageSentinels::k_max + 1) * k_page);
  pages.touch(0, PageSentinels::k_max + 1);
  std::size_t armed = 0;
  sentinels_->disarm(0, k_watched);
  for (std::size_t i = 0; i <= PageSentinels::k_max; ++i) armed += sentinels_->arm(0, 0, pages.address(i), k_page);
  EXPECT_EQ(armed, PageSentinels::k_max);
  sentinels_->disarm(0, 1);
}

// A program closes all descriptors that it does not know: detached pages are attached at the next access.
TEST_F(PageSentinelsTest, ClosedDescriptors_PagesComeBack) {
  ASSERT_TRUE(arm(5));
  std::vector<int> closed;
  for (int file = 3; file < 1024; ++file) {
    char name[64]{};
    const auto link = "/proc/self/fd/" + std::to_string(file);
    if (readlink(link.c_str(), name, sizeof name - 1) > 0 &&
        std::string(name).find("userfaultfd") != std::string::npos)
      closed.push_back(file);
  }
  ASSERT_FALSE(closed.empty());
  for (const int file : closed) close(file);
  EXPECT_FALSE(sentinels_->disarm(5, 1)) << "not by this thread";
  EXPECT_EQ(numbers(5)[9], 5 * k_in_chunk + 9);
  expect_touched(5, 1);
  expect_content();
  EXPECT_FALSE(arm(5));
}

// A page that cannot be detached again drops its own sentinel only.
TEST_F(PageSentinelsTest, DetachAgain_Failure_DropsSentinel) {
  ASSERT_TRUE(arm(6));
  ASSERT_TRUE(arm(7));
  suspend_exchanges();
  ASSERT_EQ(munmap(reinterpret_cast<void*>(address(6)), k_watched_size), 0);
  resume_exchanges();
  EXPECT_FALSE(sentinels_->disarm(6, 1));
  EXPECT_EQ(numbers(7)[9], 7 * k_in_chunk + 9);
  expect_touched(7, 1);
  mmap(reinterpret_cast<void*>(address(6)), k_watched_size, PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

// Two threads increment words in all chunks while sentinels are armed, disarmed and suspended: no increment is
// lost.
TEST_F(PageSentinelsTest, ConcurrentThreads_LoseNoWrite) {
  constexpr std::chrono::milliseconds k_time{700};
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> counted = 0;
  std::thread armer([&] {
    std::mt19937 random(1);
    while (!stop) {
      const auto chunk = static_cast<ChunkId>(random() % k_watched);
      switch (random() % 4) {
        case 0:
          sentinels_->disarm(chunk, 2);
          break;
        case 1:
          suspend_exchanges();
          resume_exchanges();
          break;
        default:
          sentinels_->disarm(chunk, 1);
          arm(chunk);
          std::this_thread::sleep_for(std::chrono::microseconds(100));  // time for an access
      }
    }
  });
  std::vector<std::thread> counters;
  for (std::size_t t = 0; t < 2; ++t)
    counters.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      std::uint64_t mine = 0;
      for (; !stop; ++mine) {
        auto* const at =
            const_cast<std::uint64_t*>(numbers(random() % k_watched)) + random() % k_in_chunk / 64 * 64;
        std::atomic_ref(*at).fetch_add(1);
      }
      counted += mine;
    });
  std::this_thread::sleep_for(k_time);
  stop = true;
  for (auto& thread : counters) thread.join();
  armer.join();
  sentinels_.reset();
  std::uint64_t added = 0;
  for (std::size_t i = 0; i < k_watched * k_in_chunk; ++i) added += numbers(0)[i] - i;
  EXPECT_EQ(added, counted);
  int noticed = 0;
  for (const auto& one : touched_) noticed += one;
  EXPECT_GT(noticed, 10);
}

}  // namespace
}  // namespace terrace::transfer
