// Tests when intervals of time begin and end a loop, and which functions are probed.
#include "runtime/interval_phases.hpp"

#include <gtest/gtest.h>

#include <random>

#include "runtime/probe_choice.hpp"

namespace terrace::runtime {
namespace {

using Interval = IntervalPhases::Interval;

TEST(IntervalPhases, TwoSimilarIntervals_BeginALoopOfOneIterationEach) {
  IntervalPhases phases;
  EXPECT_FALSE(phases.on_interval_end({1, {{"a", 100}}}).any());
  EXPECT_FALSE(phases.on_interval_end({1, {{"b", 100}}}).any());
  const auto begun = phases.on_interval_end({1, {{"a", 10}, {"b", 90}}});
  EXPECT_EQ(begun.begins_loop, "(intervals)");
  EXPECT_TRUE(begun.by_time);
  EXPECT_EQ(begun.iterations_before, 3U);
  EXPECT_FALSE(begun.phase.empty());
  for (int i = 0; i < 5; ++i) {
    const auto next = phases.on_interval_end({1, {{"a", 20}, {"b", 80}}});
    EXPECT_EQ(next.phase, begun.phase);
    EXPECT_TRUE(next.begins_loop.empty());
  }
}

TEST(IntervalPhases, OtherData_SeveralIntervals_EndTheLoop) {
  IntervalPhases phases;
  const Interval usual{1, {{"a", 100}}}, other{1, {{"b", 100}}};
  for (int i = 0; i < 3; ++i) static_cast<void>(phases.on_interval_end(usual));
  EXPECT_FALSE(phases.on_interval_end(other).ends_loop);
  EXPECT_FALSE(phases.on_interval_end(usual).ends_loop);
  EXPECT_FALSE(phases.on_interval_end(other).ends_loop);
  EXPECT_TRUE(phases.on_interval_end(other).ends_loop);
  EXPECT_FALSE(phases.in_loop());
  // The other data is a loop of its own as soon as it continues.
  EXPECT_FALSE(phases.on_interval_end(other).begins_loop.empty());
}

TEST(IntervalPhases, IntervalWithoutAccesses_BeginsAndEndsNothing) {
  IntervalPhases phases;
  EXPECT_FALSE(phases.on_interval_end({1, {}}).any());
  EXPECT_FALSE(phases.on_interval_end({1, {}}).any());
  static_cast<void>(phases.on_interval_end({1, {{"a", 1}}}));
  EXPECT_FALSE(phases.on_interval_end({1, {{"a", 1}}}).begins_loop.empty());
  EXPECT_FALSE(phases.on_interval_end({1, {}}).ends_loop);
}

TEST(IntervalPhases, Similarity_SpeedAndOrderChanged_StaysTheSame) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> bytes(0, 1e9);
  for (int i = 0; i < 1000; ++i) {
    Interval one{1, {}}, other{1, {}};
    for (const char* name : {"a", "b", "c", "d"}) {
      if (random() % 3 != 0) one.used[name] = bytes(random);
      if (random() % 3 != 0) other.used[name] = bytes(random);
    }
    const auto similarity = IntervalPhases::similarity(one, other);
    EXPECT_GE(similarity, 0);
    EXPECT_LE(similarity, 1 + 1e-12);
    EXPECT_NEAR(similarity, IntervalPhases::similarity(other, one), 1e-12);
    if (!one.used.empty()) {
      auto faster = one;
      for (auto& [name, used] : faster.used) used *= 3;
      EXPECT_NEAR(IntervalPhases::similarity(one, faster), 1, 1e-12);
    }
  }
}

TEST(ProbeChoice, HotFunctions_OfNamedCode_AreOrderedByTime) {
  EXPECT_EQ(hot_functions({{0, 50}, {0x10, 2}, {0x20, 40}, {0x30, 8}}), (std::vector<std::uint64_t>{0x20, 0x30}));
  std::map<std::uint64_t, std::uint64_t> many;
  for (std::uint64_t i = 1; i <= 20; ++i) many[i] = 5;
  EXPECT_EQ(hot_functions(many).size(), k_max_probed);
  EXPECT_TRUE(hot_functions({}).empty());
}

TEST(ProbeChoice, CalledTooOften_RandomCalls_KeepsRatesBelowTheLimits) {
  std::mt19937 random(3);
  for (int i = 0; i < 1000; ++i) {
    std::vector<std::uint64_t> calls(1 + random() % 8);
    for (auto& count : calls) count = random() % 1000;
    const double seconds = 0.1 + static_cast<double>(random() % 20) / 10;
    const auto dropped = called_too_often(calls, seconds);
    double kept = 0, dearest = 0;
    for (std::uint32_t f = 0; f < calls.size(); ++f) {
      if (std::ranges::find(dropped, f) != dropped.end()) continue;
      kept += static_cast<double>(calls[f]) / seconds;
      dearest = std::max(dearest, static_cast<double>(calls[f]) / seconds);
    }
    EXPECT_LE(kept, k_max_total_rate);
    EXPECT_LE(dearest, k_max_call_rate);
    // No function is dropped that would have fitted.
    for (const auto f : dropped) {
      const auto rate = static_cast<double>(calls[f]) / seconds;
      EXPECT_TRUE(rate > k_max_call_rate || kept + rate > k_max_total_rate);
    }
  }
}

}  // namespace
}  // namespace terrace::runtime
