// Tests features of single page watches: DAMON and clear_refs.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "observe/page_watch.hpp"
#include "watched_memory.hpp"

namespace {

using namespace terrace::observe;

const PageWatchVariant& damon() { return **std::ranges::find(page_watches(), "damon", &PageWatchVariant::name); }

TEST(DamonMonitor, HotAndColdRanges_AreDistinguished) {
  if (const auto reason = damon().unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
  const auto watch = damon().make();
  const Memory hot(4096), cold(4096);
  std::vector<WatchedRange> ranges = {hot.range(), cold.range()};
  const bool swapped = ranges[1].low < ranges[0].low;
  if (swapped) std::swap(ranges[0], ranges[1]);
  std::atomic<bool> stop{false};
  std::thread thread([&] {
    while (!stop)
      for (std::size_t i = 0; i < 4096; ++i) *hot.at(i) = 2;
  });
  watch->begin(ranges);
  std::uint64_t of_hot = 0, of_cold = 0;
  for (int window = 0; window < 5; ++window) {
    std::vector<std::uint64_t> bytes(2);
    watch->read(ranges, bytes);
    of_hot = bytes[swapped ? 1 : 0];
    of_cold = bytes[swapped ? 0 : 1];
  }
  stop = true;
  thread.join();
  EXPECT_NE(of_hot, PageWatch::k_unknown);
  EXPECT_GE(of_hot, 4096 * hot.page_bytes / 2);
  EXPECT_LE(of_cold, 4096 * hot.page_bytes / 10);
}

TEST(DamonMonitor, KilledOwner_MonitorIsReusable) {
  if (const auto reason = damon().unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
  int ready[2] = {};
  ASSERT_EQ(pipe(ready), 0);
  const auto child = fork();
  if (child == 0) {
    const Memory memory;
    const auto watch = damon().make();
    const std::vector<WatchedRange> ranges = {memory.range()};
    watch->begin(ranges);
    if (write(ready[1], "x", 1) == 1) pause();
    _exit(1);
  }
  char go = 0;
  ASSERT_EQ(::read(ready[0], &go, 1), 1);
  const auto state = [] {
    std::ifstream file("/sys/kernel/mm/damon/admin/kdamonds/0/state");
    std::string text;
    file >> text;
    return text;
  };
  EXPECT_EQ(state(), "on");
  EXPECT_NE(damon().unavailable_reason(), "");  // in use
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  // The kernel's thread notices it at its next check.
  while (state() == "on") std::this_thread::yield();
  EXPECT_EQ(damon().unavailable_reason(), "");
  close(ready[0]);
  close(ready[1]);
}

// The pages that cost the program afterwards: those of the whole process where the kernel clears all.
TEST(ClearRefs, Window_ReportsClearedPages) {
  const auto found = std::ranges::find(page_watches(), "clear-refs", &PageWatchVariant::name);
  ASSERT_NE(found, page_watches().end());
  if (const auto reason = (*found)->unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
  const auto watch = (*found)->make();
  const auto cleared = [&](const std::vector<WatchedRange>& ranges) {
    std::vector<std::uint64_t> bytes(ranges.size());
    watch->begin(ranges);
    watch->read(ranges, bytes);
    return watch->num_cleared();
  };
  const Memory little(16);
  const auto before = cleared({little.range()});
  constexpr std::size_t k_more = 10000;
  std::optional<Memory> much;
  // Uses a thread that has ended: before Linux 6.2 threads batched up to 64 pages before they updated the counter.
  std::thread([&] { much.emplace(k_more); }).join();
  const auto after = cleared({little.range()});  // though it asks for the others alone
  EXPECT_GE(after, before + k_more);
  EXPECT_LE(after, before + k_more + 2000);
}

}  // namespace
