// Compares every page watch, on real memory, with the pages that the test touched. Skips unavailable ones with the
// reason.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <random>
#include <thread>

#include "observe/page_watch.hpp"
#include "watched_memory.hpp"

namespace terrace::observe {

// Names a parameter for ctest by its name, not by an address that differs from run to run.
static void PrintTo(const PageWatchVariant* variant, std::ostream* out) { *out << variant->name(); }

}  // namespace terrace::observe

namespace {

using namespace terrace::observe;

class PageWatches : public testing::TestWithParam<const PageWatchVariant*> {
 protected:
  void SetUp() override {
    if (const auto reason = GetParam()->unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    watch_ = GetParam()->make();
  }
  [[nodiscard]] static bool sees_loads() {
    return GetParam()->blind_spots().find("loads") == std::string_view::npos;
  }
  // Uses memory in a way that the watch observes.
  static void touch(const Memory& memory, std::size_t page) {
    if (sees_loads() && page % 2 == 0)
      static_cast<void>(*memory.at(page));
    else
      *memory.at(page) = 2;
  }
  std::vector<std::uint64_t> used(const std::vector<WatchedRange>& ranges) {
    std::vector<std::uint64_t> bytes(ranges.size(), 7);
    watch_->read(ranges, bytes);
    return bytes;
  }

  std::unique_ptr<PageWatch> watch_;
};

TEST_P(PageWatches, TouchedPages_AreCounted) {
  const Memory memory;
  std::mt19937 random(1);
  for (int window = 0; window < 60; ++window) {
    // The TLB has all of the pages when the window begins.
    for (std::size_t i = 0; i < k_pages; ++i) touch(memory, i);
    const std::vector<WatchedRange> ranges = {memory.range()};
    watch_->begin(ranges);
    std::vector<bool> touched(k_pages);
    const auto count = random() % 200;
    for (std::size_t i = 0; i < count; ++i) {
      const auto page = random() % k_pages;
      touch(memory, page);
      touched[page] = true;
    }
    const auto pages = static_cast<std::size_t>(std::ranges::count(touched, true));
    ASSERT_EQ(used(ranges).front(), pages * memory.page_bytes) << "window " << window;
    // The window continues.
    touch(memory, 0);
    ASSERT_EQ(used(ranges).front(), (pages + (touched[0] ? 0 : 1)) * memory.page_bytes);
  }
}

TEST_P(PageWatches, BusyThread_PagesAreCounted) {
  const Memory memory;
  constexpr std::size_t k_hot = 16;  // few enough for the processor to know them all the time
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> rounds{0};
  std::thread thread([&] {
    while (!stop) {
      for (std::size_t i = 0; i < k_hot; ++i) touch(memory, 3 * i);
      ++rounds;
    }
  });
  const auto await_round = [&] {
    for (const auto seen = rounds.load(); rounds < seen + 2;) std::this_thread::yield();
  };
  await_round();
  const std::vector<WatchedRange> ranges = {memory.range()};
  std::vector<std::uint64_t> told;
  for (int window = 0; window < 20; ++window) {
    watch_->begin(ranges);
    await_round();
    told.push_back(used(ranges).front());
  }
  stop = true;
  thread.join();
  for (const auto bytes : told) EXPECT_EQ(bytes, k_hot * memory.page_bytes);
}

TEST_P(PageWatches, RangesOfOneMapping_SeparateOrShared) {
  const Memory memory;
  const std::vector<WatchedRange> ranges = {memory.range(0, 100), memory.range(100, 28), memory.range(300, 84)};
  watch_->begin(ranges);
  for (const std::size_t page : {0, 1, 99, 100, 383, 384, 200}) touch(memory, page);
  const auto bytes = used(ranges);
  const auto page = memory.page_bytes;
  if (GetParam()->is_page_granular()) {
    EXPECT_EQ(bytes, (std::vector<std::uint64_t>{3 * page, 1 * page, 1 * page}));
  } else {
    const auto all = 7 * page;
    EXPECT_EQ(bytes, (std::vector<std::uint64_t>{all * 100 / k_pages, all * 28 / k_pages, all * 84 / k_pages}));
  }
}

// Memory that the kernel writes for the program counts as used.
TEST_P(PageWatches, SystemCallWrites_AreCounted) {
  const Memory memory;
  const std::vector<WatchedRange> ranges = {memory.range()};
  const int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  watch_->begin(ranges);
  EXPECT_EQ(::read(zero, const_cast<char*>(memory.at(20)), 3 * memory.page_bytes),
            static_cast<long>(3 * memory.page_bytes));
  EXPECT_EQ(used(ranges).front(), 3 * memory.page_bytes);
  close(zero);
}

TEST_P(PageWatches, NewPages_AreCounted) {
  const Memory memory;
  madvise(const_cast<char*>(memory.at(64)), 64 * memory.page_bytes, MADV_DONTNEED);
  const std::vector<WatchedRange> ranges = {memory.range()};
  watch_->begin(ranges);
  for (std::size_t i = 70; i < 80; ++i) *memory.at(i) = 3;
  EXPECT_EQ(used(ranges).front(), 10 * memory.page_bytes);
}

// A huge page counts as a whole, or by its small pages after a split; others do not
// count.
TEST_P(PageWatches, UntouchedHugePages_AreNotCounted) {
  constexpr std::size_t k_huge = 2 << 20, k_count = 8;
  auto* const map = static_cast<char*>(
      mmap(nullptr, (k_count + 2) * k_huge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  auto* const begin = map + k_huge - reinterpret_cast<std::uint64_t>(map) % k_huge;
  mprotect(begin, k_count * k_huge, PROT_READ | PROT_WRITE);
  madvise(begin, k_count * k_huge, MADV_HUGEPAGE);
  std::fill_n(begin, k_count * k_huge, 1);
  const auto low = reinterpret_cast<std::uint64_t>(begin);
  const std::vector<WatchedRange> ranges = {{low, low + k_count * k_huge}};
  for (std::size_t count = 0; count <= k_count; ++count) {
    watch_->begin(ranges);
    for (std::size_t i = 0; i < count; ++i) *static_cast<volatile char*>(begin + i * k_huge + 12345) = 2;
    const auto bytes = used(ranges).front();
    EXPECT_GE(bytes, count * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
    EXPECT_LE(bytes, count * k_huge);
  }
  munmap(map, (k_count + 2) * k_huge);
}

TEST_P(PageWatches, ConcurrentMapAndUnmap_WatchContinues) {
  const Memory memory;
  std::atomic<bool> stop{false};
  std::thread thread([&] {
    std::mt19937 random(7);
    while (!stop) {
      const auto size = (1 + random() % 30) * 4096;
      void* const some = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      *static_cast<volatile char*>(some) = 1;
      mprotect(some, 4096, PROT_READ);
      munmap(some, size);
    }
  });
  const std::vector<WatchedRange> ranges = {memory.range()};
  std::vector<std::uint64_t> told;
  for (std::size_t window = 0; window < 100; ++window) {
    watch_->begin(ranges);
    for (std::size_t i = 0; i < window; ++i) touch(memory, 4 * i);
    told.push_back(used(ranges).front());
  }
  stop = true;
  thread.join();
  for (std::size_t window = 0; window < told.size(); ++window) EXPECT_EQ(told[window], window * memory.page_bytes);
}

TEST_P(PageWatches, UnmappedRange_IsUnknown) {
  WatchedRange gone{};
  const Memory memory;
  {
    const Memory other;
    gone = other.range();
  }
  std::vector<WatchedRange> ranges = {memory.range(), gone};
  if (gone.low < memory.range().low) std::swap(ranges[0], ranges[1]);
  watch_->begin(ranges);
  *memory.at(5) = 2;
  const auto bytes = used(ranges);
  const auto at = ranges[0].low == gone.low ? 0 : 1;
  EXPECT_TRUE(bytes[at] == PageWatch::k_unknown || bytes[at] == 0) << bytes[at];
  EXPECT_EQ(bytes[1 - at], memory.page_bytes);
}

TEST_P(PageWatches, ForkChild_ReportsUnknownWithoutEffect) {
  const Memory memory;
  const std::vector<WatchedRange> ranges = {memory.range()};
  watch_->begin(ranges);
  *memory.at(1) = 2;
  const auto child = fork();
  if (child == 0) {
    *memory.at(7) = 2;
    watch_->begin(ranges);
    const bool nothing = used(ranges).front() == PageWatch::k_unknown;
    watch_.reset();
    _exit(nothing ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  // After a fork, writes copy shared pages. The next window is correct again.
  watch_->begin(ranges);
  *memory.at(2) = 2;
  EXPECT_EQ(used(ranges).front(), memory.page_bytes);
}

// Like a daemon.
TEST_P(PageWatches, ClosedDescriptors_ProgramsFilesStayOpen) {
  const auto child = fork();
  if (child == 0) {
    auto watch = GetParam()->make();
    for (int file = 3; file < 1000; ++file) close(file);
    std::vector<int> mine;
    while (mine.empty() || mine.back() < 20) mine.push_back(open("/dev/null", O_RDONLY));
    watch.reset();
    for (const int file : mine)
      if (fcntl(file, F_GETFD) < 0) _exit(1);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_P(PageWatches, Destruction_LeavesNoDescriptor) {
  const auto files = [] {
    const auto all = std::filesystem::directory_iterator("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  watch_.reset();
  const auto before = files();
  {
    const Memory memory;
    const std::vector<WatchedRange> ranges = {memory.range()};
    const auto watch = GetParam()->make();
    watch->begin(ranges);
    std::vector<std::uint64_t> bytes(1);
    watch->read(ranges, bytes);
  }
  static_cast<void>(GetParam()->unavailable_reason());
  EXPECT_EQ(files(), before);
}

// All watches with page granularity; DAMON has regions.
std::vector<const PageWatchVariant*> all_but_the_monitor() {
  auto all = page_watches();
  std::erase_if(all, [](const auto* variant) { return variant->name() == "damon"; });
  return all;
}

INSTANTIATE_TEST_SUITE_P(, PageWatches, testing::ValuesIn(all_but_the_monitor()), [](const auto& tested) {
  std::string name(tested.param->name());
  std::erase(name, '-');
  return name;
});

TEST(PageWatchTable, Variants_HaveNameRankAndReason) {
  std::vector<int> ranks;
  for (const auto* variant : page_watches()) {
    EXPECT_FALSE(variant->name().empty());
    EXPECT_EQ(variant->unavailable_reason().find('\n'), std::string::npos) << variant->unavailable_reason();
    if (!variant->unavailable_reason().empty()) {
      EXPECT_ANY_THROW(static_cast<void>(variant->make()));
    }
    ranks.push_back(variant->rank());
  }
  std::ranges::sort(ranks);
  EXPECT_EQ(std::ranges::adjacent_find(ranks), ranks.end());
}

}  // namespace
