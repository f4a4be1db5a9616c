// Tests page use by samples: page faults stand for misses, because every page of new memory faults once.
#include "observe/perf/sampled_use.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>

namespace terrace::observe {
namespace {

TEST(SampledUse, MissesOfRange_CountAsLines) {
  PerfEvent event;
  event.type = PERF_TYPE_SOFTWARE;
  event.config = PERF_COUNT_SW_PAGE_FAULTS;
  event.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD;
  event.period = 1;
  const std::array events{event};
  if (const auto why = MemorySampler::unavailable_reason(events); !why.empty()) GTEST_SKIP() << why;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t size = 64 * page;
  auto* const map =
      static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(map, MAP_FAILED);
  madvise(map, size, MADV_NOHUGEPAGE);
  const auto low = reinterpret_cast<std::uint64_t>(map);
  // Two ranges with a gap between them.
  const std::array ranges{WatchedRange{low, low + 20 * page}, WatchedRange{low + 30 * page, low + size}};
  SampledUse use(events, -1);
  const auto touch = [&](std::size_t first, std::size_t count) {
    for (auto i = first; i < first + count; ++i) *static_cast<volatile char*>(map + i * page) = 1;
  };
  touch(0, 5);  // before the window
  use.begin(ranges);
  touch(5, 10);
  touch(20, 10);  // in the gap
  touch(40, 3);
  std::array<std::uint64_t, 2> used{};
  use.read(ranges, used);
  EXPECT_EQ(used[0], 10 * 64U);
  EXPECT_EQ(used[1], 3 * 64U);
  // The window continues.
  touch(50, 4);
  use.read(ranges, used);
  EXPECT_EQ(used[1], 7 * 64U);
  use.begin(ranges);
  use.read(ranges, used);
  EXPECT_EQ(used[0] + used[1], 0U);
  EXPECT_EQ(use.counts().lost, 0U);
  munmap(map, size);
}

}  // namespace
}  // namespace terrace::observe
