// Tests timed windows: which sections run, in which order, and what is recorded. No test waits or judges times.
#include "machine/measure/windows.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace terrace::machine {
namespace {

// Returns the processors that this process may run on.
std::vector<int> processors() {
  cpu_set_t allowed;
  EXPECT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  std::vector<int> numbers;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &allowed)) numbers.push_back(i);
  return numbers;
}

using Calls = std::multiset<std::pair<std::size_t, std::size_t>>;  // thread, window

TEST(Windows, Workers_EachWindow_RunOnceAndLeadInIsNotRecorded) {
  auto workers = processors();
  workers.resize(std::min<std::size_t>(workers.size(), 2));
  std::mutex mutex;
  Calls sections;
  Calls preparations;
  const auto note = [&](Calls& calls) {
    return [&](std::size_t thread, std::size_t window) {
      const std::lock_guard guard(mutex);
      calls.emplace(thread, window);
    };
  };
  WindowPlan plan{workers, {}};
  plan.lead_in = 2;
  plan.windows = 3;
  const auto windows = run_windows(plan, note(sections), note(preparations));
  ASSERT_EQ(windows.size(), 3u);
  for (const auto& window : windows) EXPECT_GT(window.value, 0);
  Calls expected;
  for (std::size_t thread = 0; thread < workers.size(); ++thread)
    for (std::size_t window = 0; window < 5; ++window) expected.emplace(thread, window);
  EXPECT_EQ(sections, expected);
  EXPECT_EQ(preparations, expected);
}

// Each worker runs on its processor, and no section begins before all preparations of its window have ended.
TEST(Windows, Workers_OnTheirProcessors_BeginTogether) {
  auto workers = processors();
  workers.resize(std::min<std::size_t>(workers.size(), 2));
  std::atomic<std::size_t> prepared{0};
  std::atomic<int> wrong{0};
  const auto windows = run_windows(
      {workers, {}},
      [&](std::size_t thread, std::size_t window) {
        if (sched_getcpu() != workers[thread]) ++wrong;
        if (prepared < (window + 1) * workers.size()) ++wrong;
      },
      [&](std::size_t, std::size_t) { ++prepared; });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(windows.size(), 5u);
}

TEST(Windows, Companions_WithAWorker_DoNotChangeItsWindows) {
  const auto all = processors();
  const std::vector<int> workers{all.front()};
  const std::vector<int> companions(all.begin() + 1, all.begin() + std::min<std::ptrdiff_t>(std::ssize(all), 2));
  std::size_t sections = 0;
  const auto windows = run_windows({workers, companions}, [&](std::size_t, std::size_t) { ++sections; });
  EXPECT_EQ(windows.size(), 5u);
  EXPECT_EQ(sections, 6u);
}

// No cache line passes within 1 ps, every one within 10 s.
TEST(Windows, Workers_StartsTooFarApart_WindowIsNotClean) {
  auto workers = processors();
  workers.resize(std::min<std::size_t>(workers.size(), 4));
  WindowPlan plan{workers, {}};
  for (const double seconds : {1e-12, 10.0}) {
    plan.max_hop = {seconds};
    const auto windows = run_windows(plan, [](std::size_t, std::size_t) {});
    EXPECT_EQ(windows.size(), 5u);
    for (const auto& window : windows) {
      EXPECT_FALSE(window.clean && window.lacked_shared_cache);
      if (seconds > 1) {
        EXPECT_FALSE(window.lacked_shared_cache);
      } else if (workers.size() > 1) {
        EXPECT_FALSE(window.clean);
      }
    }
  }
}

TEST(Windows, Section_Throws_TheFirstExceptionComesOut) {
  const std::vector<int> workers{processors().front()};
  std::size_t ran = 0;
  const auto run = [&] {
    run_windows({workers, {}}, [&](std::size_t, std::size_t window) {
      ++ran;
      if (window >= 2) throw std::runtime_error("window " + std::to_string(window));
    });
  };
  try {
    run();
    FAIL() << "no exception was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "window 2");
  }
  EXPECT_GE(ran, 3u);
}

}  // namespace
}  // namespace terrace::machine
