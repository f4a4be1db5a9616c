// Tests the measured loops: STREAM's arithmetic, one cycle through all lines, placement of buffers.
#include "machine/measure/kernels.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <numeric>
#include <vector>

#include "core/error.hpp"
#include "machine/measure/placed_buffer.hpp"
#include "machine/measure/team.hpp"

namespace terrace::machine {
namespace {

TEST(StreamKernel, Kernels_PassMcCalpinsCheck) {
  std::vector<double> a(1001, 1), b(1001, 2), c(1001, 0);
  double x = 1, y = 2, z = 0;  // one element, computed by hand
  for (int round = 0; round < 3; ++round) {
    stream_copy(c, a);
    stream_scale(b, c, 3);
    stream_add(c, a, b);
    stream_triad(a, b, c, 3);
    z = x;
    y = 3 * z;
    z = x + y;
    x = y + 3 * z;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i], x);
    ASSERT_EQ(b[i], y);
    ASSERT_EQ(c[i], z);
  }
  scalar_triad(a, b, c, 3);
  EXPECT_EQ(a[1000], y + 3 * z);
}

TEST(ReadAndWrite, AnyLengthAndAlignment_TouchEveryElement) {
  std::vector<double> values(300);
  std::iota(values.begin(), values.end(), 1.0);
  for (std::size_t from = 0; from < 3; ++from) {
    for (std::size_t n = 0; n < 100; ++n) {
      const auto part = std::span<const double>(values).subspan(from, n);
      ASSERT_EQ(read_all(part), std::accumulate(part.begin(), part.end(), 0.0));
      std::vector<double> target(300, -1);
      write_all(std::span<double>(target).subspan(from, n), 7);
      for (std::size_t i = 0; i < target.size(); ++i) ASSERT_EQ(target[i], i >= from && i < from + n ? 7 : -1);
    }
  }
}

TEST(ChaseKernel, Cycle_VisitsAllLines) {
  for (const std::size_t n : {2u, 3u, 64u, 1000u}) {
    std::vector<ChaseLine> lines(n);
    const ChaseCycle cycle(lines, 42);
    std::vector<int> visits(n);
    auto* at = cycle.start(0, 1);
    for (std::size_t i = 0; i < n; ++i) {
      ++visits[static_cast<std::size_t>(at - lines.data())];
      at = chase(at, 1);
    }
    EXPECT_EQ(at, cycle.start(0, 1)) << "returns to the start after n hops";
    for (const int count : visits) ASSERT_EQ(count, 1);
  }
}

TEST(ChaseKernel, ConcurrentChases_FollowTheCycle) {
  std::vector<ChaseLine> lines(1000);
  const ChaseCycle cycle(lines, 1);
  for (const std::size_t k : {4u, 8u, 16u, 32u}) {
    std::vector<ChaseLine*> at(k);
    for (std::size_t i = 0; i < k; ++i) at[i] = cycle.start(i, k);
    chase_many(at, 123);
    for (std::size_t i = 0; i < k; ++i) EXPECT_EQ(at[i], chase(cycle.start(i, k), 123));
  }
  std::vector<ChaseLine*> five(5, cycle.start(0, 1));
  EXPECT_THROW(chase_many(five, 1), Error);
  EXPECT_THROW(ChaseCycle(std::span(lines).first(1), 1), Error);
}

TEST(ChaseKernel, OneLinePerPage_VisitsEachPageInAnotherSet) {
  constexpr std::size_t k_page_lines = 64, k_pages = 100;
  std::vector<ChaseLine> lines(k_pages * k_page_lines);
  const auto cycle = ChaseCycle::one_line_per_page(lines, k_page_lines, 5);
  std::vector<int> pages(k_pages), sets(k_page_lines);
  auto* at = cycle.start(0, 1);
  for (std::size_t i = 0; i < k_pages; ++i) {
    const auto line = static_cast<std::size_t>(at - lines.data());
    ++pages[line / k_page_lines];
    ++sets[line % k_page_lines];
    at = chase(at, 1);
  }
  EXPECT_EQ(at, cycle.start(0, 1));
  for (const int count : pages) ASSERT_EQ(count, 1);
  for (const int count : sets) EXPECT_LE(count, 2);  // 100 pages over 64 lines of a page
}

TEST(ChaseKernel, Order_IsRandom) {
  // Few hops of a random cycle lead to the next line, which a hardware prefetcher would fetch.
  std::vector<ChaseLine> lines(10000);
  const ChaseCycle cycle(lines, 7);
  int neighbours = 0;
  for (const auto& line : lines) neighbours += line.next == &line + 1 ? 1 : 0;
  EXPECT_LT(neighbours, 20);  // one is expected
}

TEST(PlacedBuffer, Buffer_IsOnItsNode) {
  // Node 0 exists wherever the kernel supports NUMA; containers may forbid setting a policy.
  try {
    const PlacedBuffer buffer({8u << 20}, Pages::small, 0);
    const auto share = buffer.share_on(0);
    if (!share) GTEST_SKIP() << "the kernel does not report where pages are";
    EXPECT_EQ(*share, 1.0);
    EXPECT_EQ(buffer.share_on(1), 0.0);
    EXPECT_EQ(buffer.as<double>().size(), (8u << 20) / sizeof(double));
  } catch (const Error& error) {
    ASSERT_EQ(error.code(), Code::unsupported);
    GTEST_SKIP() << error.what();
  }
}

TEST(PlacedBuffer, SmallPages_AreNotHuge) {
  const PlacedBuffer buffer({8u << 20}, Pages::small, -1);
  const auto share = buffer.share_huge();
  if (!share) GTEST_SKIP() << "/proc/self/smaps cannot be read";
  EXPECT_EQ(*share, 0.0);
}

TEST(PlacedBuffer, ImpossibleRequests_Throw) {
  EXPECT_THROW(PlacedBuffer({1ull << 60}, Pages::small, -1), Error);
  EXPECT_GT(available_memory(-1).value, 0u);
}

TEST(Team, AllThreads_RunInEveryRoundAndErrorsPropagate) {
  const std::vector<int> processors(3, 0);
  std::atomic<int> runs = 0;
  std::vector<std::size_t> rounds;
  run_team(
      processors, 5, [&](std::size_t, std::size_t) { ++runs; },
      [&](std::size_t round, Seconds time) {
        rounds.push_back(round);
        EXPECT_EQ(runs, 3 * static_cast<int>(round + 1)) << "a round ends when all threads have ended";
        EXPECT_GE(time.value, 0);
      });
  EXPECT_EQ(rounds, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
  const auto fail = [](std::size_t thread, std::size_t) {
    if (thread == 1) throw Error(Code::failed, "second");
  };
  EXPECT_THROW(run_team(processors, 2, fail, [](std::size_t, Seconds) {}), Error);
}

}  // namespace
}  // namespace terrace::machine
