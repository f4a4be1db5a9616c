// Compares probes and time samples of this program with its own counts. Where the kernel permits no probes, tests
// the reason.
#include "observe/perf/function_probes.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "core/error.hpp"

namespace terrace::observe {
namespace {

volatile unsigned g_sum = 0;

// gcc must not clone probed functions either; clang does not clone.
#if defined(__clang__)
#define TERRACE_KEEP __attribute__((noinline))
#else
#define TERRACE_KEEP __attribute__((noinline, noclone))
#endif

TERRACE_KEEP void probed(unsigned n) {
  for (unsigned i = 0; i < n; ++i) g_sum = g_sum + i;
}

TERRACE_KEEP void other(unsigned n) {
  for (unsigned i = 0; i < n; ++i) g_sum = g_sum ^ i;
}

std::uint64_t begin_of(void (*function)(unsigned)) { return reinterpret_cast<std::uint64_t>(function); }

TEST(FunctionProbes, Calls_AreReportedInOrder) {
  if (const auto why = FunctionProbes::unavailable_reason(); !why.empty()) GTEST_SKIP() << why;
  FunctionProbes probes(static_cast<int>(gettid()));
  ASSERT_TRUE(probes.add(0, begin_of(probed)));
  ASSERT_TRUE(probes.add(1, begin_of(other)));
  for (int i = 0; i < 100; ++i) {
    probed(10);
    if (i % 4 == 0) other(10);
  }
  const auto events = probes.read_events();
  ASSERT_EQ(events.size(), 100U + 25);
  EXPECT_TRUE(std::ranges::is_sorted(events, {}, &ProbeEvent::time_ns));
  // Each fourth call of the first function is followed by one of the second.
  for (std::size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].function, i % 5 == 1 ? 1U : 0U) << i;
  EXPECT_TRUE(probes.remove(0));
  EXPECT_FALSE(probes.remove(0));
  probed(10);
  other(10);
  EXPECT_EQ(probes.read_events().size(), 1U);
  EXPECT_EQ(probes.lost(), 0U);
}

TEST(FunctionProbes, OtherThreads_AreNotReported) {
  if (const auto why = FunctionProbes::unavailable_reason(); !why.empty()) GTEST_SKIP() << why;
  FunctionProbes probes(static_cast<int>(gettid()));
  ASSERT_TRUE(probes.add(0, begin_of(probed)));
  std::thread([] { probed(10); }).join();
  EXPECT_TRUE(probes.read_events().empty());
}

TEST(FunctionProbes, NoFreeBreakpoint_AddFails) {
  if (const auto why = FunctionProbes::unavailable_reason(); !why.empty()) GTEST_SKIP() << why;
  FunctionProbes probes(static_cast<int>(gettid()));
  std::uint32_t added = 0;
  while (added < 64 && probes.add(added, begin_of(probed) + added)) ++added;
  EXPECT_GE(added, 1U);
  EXPECT_LT(added, 64U);
  EXPECT_TRUE(probes.remove(0));
  EXPECT_TRUE(probes.add(64, begin_of(other))) << "one is free again";
  other(10);
  EXPECT_EQ(probes.read_events().size(), 1U);
}

TEST(TimeSampler, BusyFunction_GetsSamples) {
  std::optional<TimeSampler> sampler;
  try {
    sampler.emplace(static_cast<int>(gettid()), 1e-3);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  std::vector<std::uint64_t> addresses;
  // Until there are samples, which takes different times on different machines.
  while (addresses.size() < 50) {
    probed(1'000'000);
    for (const auto address : sampler->read_samples()) addresses.push_back(address);
  }
  const auto begin = reinterpret_cast<std::uint64_t>(&probed);
  const auto inside = std::ranges::count_if(addresses, [&](auto address) { return address - begin < 256; });
  EXPECT_GT(inside, static_cast<std::ptrdiff_t>(addresses.size() / 2));
}

}  // namespace
}  // namespace terrace::observe
