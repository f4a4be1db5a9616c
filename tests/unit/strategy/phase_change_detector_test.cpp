// Tests when a change of the program is reported, for iterations of given times.
#include "strategy/learning/phase_change_detector.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace terrace::strategy {
namespace {

// Runs phases "a", "b", ... with these times. Returns the iterations, from 0 on, in which a change was reported.
// The new plan comes into force two iterations later.
std::vector<int> noticed(int iterations, const std::function<std::vector<double>(int)>& times) {
  PhaseChangeDetector variation;
  variation.start_watching();
  std::vector<int> found;
  int next = -1;
  for (int i = 0; i < iterations; ++i) {
    if (i == next) variation.start_watching();
    PhaseIndex k = 0;
    for (const auto time : times(i)) {
      variation.on_phase_end(k, std::string(1, static_cast<char>('a' + k)), Seconds{time});
      ++k;
    }
    if (!variation.on_iteration_end()) continue;
    found.push_back(i);
    next = i + 3;
  }
  return found;
}

TEST(PhaseChangeDetector, StableProgram_ReportsNothing) {
  EXPECT_TRUE(noticed(100, [](int) { return std::vector{1.0, 2.0}; }).empty());
  // Within 10 %.
  EXPECT_TRUE(noticed(100, [](int i) { return std::vector{1.0 + 0.05 * (i % 2), 2.0}; }).empty());
  // 50 % longer, but less than 1 % of the iteration.
  EXPECT_TRUE(noticed(100, [](int i) { return std::vector{i < 50 ? 0.01 : 0.015, 1.0}; }).empty());
}

TEST(PhaseChangeDetector, TwoConsecutiveDeviations_AreReported) {
  EXPECT_EQ(noticed(100, [](int i) { return std::vector{1.0, i < 50 ? 2.0 : 2.3}; }), std::vector{51});
  EXPECT_EQ(noticed(100, [](int i) { return std::vector{1.0, i < 50 ? 2.0 : 1.7}; }), std::vector{51});
  // A single deviation is not reported: output every tenth iteration, at the end or in the middle.
  EXPECT_TRUE(noticed(100, [](int i) { return std::vector{1.0, i % 10 == 9 ? 5.0 : 2.0}; }).empty());
  EXPECT_TRUE(noticed(100, [](int i) {
                return i % 10 == 9 ? std::vector{1.0, 2.0, 5.0} : std::vector{1.0, 2.0};
              }).empty());
}

TEST(PhaseChangeDetector, AddedOrRemovedPhase_IsReported) {
  EXPECT_EQ(noticed(60, [](int i) { return i < 30 ? std::vector{1.0} : std::vector{1.0, 0.5}; }), std::vector{31});
  EXPECT_EQ(noticed(60, [](int i) { return i < 30 ? std::vector{1.0, 0.5} : std::vector{1.0}; }), std::vector{31});
}

TEST(PhaseChangeDetector, SlowDrift_IsReported) {
  // 1 % per iteration: reported in the eleventh after the usual time was settled, and the one after it.
  EXPECT_EQ(noticed(20, [](int i) { return std::vector{1.0 + 0.01 * i}; }), std::vector{13});
}

TEST(PhaseChangeDetector, AlternatingProgram_PatienceGrows) {
  EXPECT_TRUE(noticed(1000, [](int i) { return std::vector{i % 2 == 0 ? 1.0 : 2.0, 1.0}; }).empty());
  for (const int period : {3, 5, 10, 15}) {
    const auto found = noticed(4000, [&](int i) { return std::vector{i / period % 2 == 0 ? 1.0 : 2.0, 1.0}; });
    // Patience doubles from two until it exceeds the period.
    EXPECT_LE(found.size(), 6U) << period;
  }
}

// A program that changes seldom gets a plan each time.
TEST(PhaseChangeDetector, LastingChanges_AreReportedEachTime) {
  const auto found = noticed(1000, [](int i) { return std::vector{i / 100 % 2 == 0 ? 1.0 : 2.0, 1.0}; });
  EXPECT_EQ(found, (std::vector{101, 201, 301, 401, 501, 601, 701, 801, 901}));
}

TEST(PhaseChangeDetector, Change_NamesPhaseAndTimes) {
  PhaseChangeDetector variation;
  variation.start_watching();
  for (const double time : {1.0, 1.0, 3.0, 3.0}) {
    variation.on_phase_end(0, "x", Seconds{1});
    variation.on_phase_end(1, "y", Seconds{time});
    const auto varied = variation.on_iteration_end();
    if (!varied) continue;
    EXPECT_EQ(varied->phase, 1U);
    EXPECT_EQ(varied->name, "y");
    EXPECT_EQ(varied->usual.value, 1);
    EXPECT_EQ(varied->now.value, 3);
    EXPECT_EQ(varied->iterations, 2U);
    EXPECT_FALSE(variation.is_watching());
    return;
  }
  FAIL() << "nothing was noticed";
}

}  // namespace
}  // namespace terrace::strategy
