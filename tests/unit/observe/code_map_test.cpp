// Tests the attribution of time to files: counts by address, loading and unloading of libraries, and the kernel's
// samples of this thread.
#include "observe/coverage/code_map.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "core/system_time.hpp"
#include "observe/coverage/time_samples.hpp"

namespace terrace::observe {
namespace {

const LoadedCode k_program{0x400000, 0x500000, "/bin/app", CodeKind::hooks};
const LoadedCode k_library{0x7000000, 0x7100000, "/lib/libm.so.6", CodeKind::no_hooks};
const LoadedCode k_plugin{0x8000000, 0x8004000, "/lib/plugin.so", CodeKind::no_hooks};

TimeSplit time_of(const CodeMap& map, const std::string& path) {
  for (const auto& time : map.times())
    if (time.path == path) return time.time;
  return {};
}

TEST(CodeMap, Count_SplitsTimeByFileAndLoop) {
  CodeMap map;
  map.update({k_library, k_program});
  map.count(0x400000, 1);
  map.count(0x4fffff, 2);
  map.set_in_loop(true);
  map.count(0x7000010, 10);
  map.count(0x400000, 5);
  EXPECT_EQ(time_of(map, "/bin/app").elsewhere, 3U);
  EXPECT_EQ(time_of(map, "/bin/app").in_loop, 5U);
  EXPECT_EQ(time_of(map, "/lib/libm.so.6").in_loop, 10U);
  EXPECT_EQ(map.times().size(), 2U);
  for (const auto& time : map.times())
    EXPECT_EQ(time.kind, time.path == "/bin/app" ? CodeKind::hooks : CodeKind::no_hooks);
}

TEST(CodeMap, UnknownCode_LaterUpdate_ResolvesTime) {
  CodeMap map;
  map.update({k_program});
  map.count(0x8000123, 4);
  map.count(0x8002123, 3);
  map.count(0x5500000, 2);  // code of no file
  EXPECT_EQ(time_of(map, "(no file)").elsewhere, 9U);
  map.update({k_program, k_plugin});
  EXPECT_EQ(time_of(map, "/lib/plugin.so").elsewhere, 7U);
  EXPECT_EQ(time_of(map, "(no file)").elsewhere, 2U);
}

TEST(CodeMap, UnloadedFile_KeepsCounts) {
  CodeMap map;
  map.update({k_program, k_plugin});
  map.count(0x8000123, 4);
  map.update({k_program});
  map.count(0x8000123, 1);
  auto elsewhere = k_plugin;
  elsewhere.low += 0x1000000;
  elsewhere.high += 0x1000000;
  map.update({k_program, elsewhere});
  map.count(0x9000123, 2);
  EXPECT_EQ(time_of(map, "/lib/plugin.so").elsewhere, 6U);
  EXPECT_EQ(time_of(map, "(no file)").elsewhere, 1U);
}

// No sample is lost, whatever the number of pages of unknown code.
TEST(CodeMap, ManyUnknownPages_NoTimeLost) {
  CodeMap map;
  for (std::uint64_t page = 1; page <= 1000; ++page) map.count(page << 12, 1);
  map.count_own(5);
  map.count_reported(6);
  std::uint64_t sum = 0;
  for (const auto& time : map.times()) sum += time.time.elsewhere;
  EXPECT_EQ(sum, 1011U);
}

TEST(CodeMap, ConcurrentUpdates_NoTimeLost) {
  CodeMap map;
  map.update({k_program});
  std::atomic<bool> stop{false};
  std::thread counter([&] {
    for (int i = 0; i < 100000; ++i) map.count(i % 2 == 0 ? 0x400000 : 0x8000123, 1);
    stop.store(true);
  });
  for (bool with = true; !stop.load(); with = !with)
    map.update(with ? std::vector{k_program, k_plugin} : std::vector{k_program});
  counter.join();
  map.update({k_program, k_plugin});
  EXPECT_EQ(time_of(map, "/bin/app").elsewhere, 50000U);
  EXPECT_EQ(time_of(map, "/lib/plugin.so").elsewhere, 50000U);
}

// Consumes processor time until there are samples.
template <class Done>
bool burn_until(Done done) {
  const std::clock_t begun = std::clock();
  while (!done()) {
    volatile double sum = 0;
    for (int i = 0; i < 100000; ++i) sum = sum + i;
    if (std::clock() - begun > 20 * CLOCKS_PER_SEC) return false;
  }
  return true;
}

class Samples : public ::testing::Test {
 protected:
  void SetUp() override {
    int refused = 0;
    samples_ = TimeSamples::begin(map_, 0, refused);
    if (!samples_) GTEST_SKIP() << "the kernel lets nobody sample itself: " << strerror(refused);
    t_thread.samples = samples_;
    // All addresses belong to one file.
    map_.update({{0, ~std::uint64_t{0}, "all", CodeKind::hooks}});
  }
  void TearDown() override {
    t_thread.samples = nullptr;
    if (samples_) TimeSamples::end(samples_);
  }
  // Samples of this thread.
  std::uint64_t count(const std::string& path) const { return time_of(map_, path).elsewhere / k_sample_period_ns; }

  CodeMap map_;
  TimeSamples* samples_ = nullptr;
};

TEST_F(Samples, RunningCode_GetsSamples) {
  EXPECT_TRUE(burn_until([&] {
    samples_->drain(TimeSamples::Attribution::by_address);
    return count("all") >= 3;
  }));
  EXPECT_EQ(count("(terrace)"), 0U);
}

TEST_F(Samples, OwnTimeScope_AttributedToRuntime) {
  samples_->drain(TimeSamples::Attribution::by_address);
  const auto before = count("all");
  EXPECT_TRUE(burn_until([&] {
    const OwnTimeScope own;
    const OwnTimeScope nested;
    burn_until([n = 0]() mutable { return ++n > 50; });
    return count("(terrace)") >= 3;
  }));
  samples_->drain(TimeSamples::Attribution::by_address);
  EXPECT_LE(count("all"), before + 2) << "but for what lies between the scopes";
}

TEST_F(Samples, ReportedCopies_AttributedToReported) {
  EXPECT_TRUE(burn_until([&] {
    before_reported();
    burn_until([n = 0]() mutable { return ++n > 50; });
    after_reported();
    return count("(reported copies)") >= 3;
  }));
}

// The ring is not drained while uninstrumented code runs; other threads may drain it.
TEST_F(Samples, Ring_KeepsSamplesUntilDrain) {
  ASSERT_TRUE(burn_until([&, begun = std::clock()] { return std::clock() - begun > CLOCKS_PER_SEC / 5; }));
  EXPECT_EQ(count("all"), 0U);
  std::thread([&] { samples_->drain(TimeSamples::Attribution::by_address); }).join();
  EXPECT_GE(count("all"), 10U);
}

// Each thread ends before its first sample is due.
TEST_F(Samples, ShortThreads_SampledTogether) {
  CodeMap map;
  std::uint64_t owed = 0, spent_ns = 0;
  for (int i = 0; i < 100; ++i) {
    std::thread([&] {
      int refused = 0;
      auto* const samples = TimeSamples::begin(map, owed, refused);
      ASSERT_NE(samples, nullptr) << refused;
      const auto begun = to_ns(read_clock(CLOCK_THREAD_CPUTIME_ID));
      auto now = begun;
      do {
        burn_until([n = 0]() mutable { return ++n > 1; });
        now = to_ns(read_clock(CLOCK_THREAD_CPUTIME_ID));
      } while (now - begun < 1'000'000);
      spent_ns += now - begun;
      owed = TimeSamples::end(samples);
    }).join();
  }
  const auto counted = static_cast<double>(time_of(map, "(no file)").elsewhere);
  EXPECT_NEAR(counted, static_cast<double>(spent_ns), 0.3 * static_cast<double>(spent_ns));
}

// A child of fork has no ring.
TEST_F(Samples, ForkChild_HasNoSamples) {
  const auto child = fork();
  if (child == 0) {
    const OwnTimeScope own;
    before_reported();
    after_reported();
    samples_->drain(TimeSamples::Attribution::by_address);
    _exit(7);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace terrace::observe
