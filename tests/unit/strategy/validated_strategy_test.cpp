// Tests the validation of plans, by a strategy that moves one chunk, in a program whose iteration time depends on
// the place of that chunk.
#include "strategy/proof/validated_strategy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "validated_program.hpp"

namespace terrace::strategy {
namespace {

double slow_takes_longer(int, PlaceId place) { return place == k_fast ? 1 : 2; }
// 50 % longer from the iteration on in which a plan is first in force.
double slows_down(int i, PlaceId) { return i < 2 ? 1 : 1.5; }

using Places = std::vector<PlaceId>;

TEST(ValidatedStrategy, GainingPlan_StaysAndReportsGain) {
  Program program(k_slow, k_fast, false);
  // The first iteration is profiled; the second is the baseline.
  EXPECT_EQ(program.run(6, slow_takes_longer), (Places{k_slow, k_slow, k_fast, k_fast, k_fast, k_fast}));
  EXPECT_EQ(program.proof().without.value, 2);
  EXPECT_EQ(program.proof().with.value, 1);
  EXPECT_EQ(program.proof().iterations_without, 1);
  EXPECT_EQ(program.proof().predicted.before.value, 2);
  EXPECT_FALSE(program.proof().undone);
  EXPECT_TRUE(program.requests.notes.empty());
}

TEST(ValidatedStrategy, OtherProgramsEnded_GainIsLimitedToWork) {
  Program program(k_slow, k_fast, false);
  program.works = [](int, PlaceId place) { return place == k_fast ? 0.9 : 1; };
  program.run(6, slow_takes_longer);
  EXPECT_EQ(program.proof().without.value, 2);
  EXPECT_NEAR(program.proof().with.value, 1.8, 1e-12) << "by the work, not by the clock";
  Program slower(k_slow, k_fast, false);
  slower.works = [](int, PlaceId place) { return place == k_fast ? 0.9 : 0.8; };
  slower.run(6, slow_takes_longer);
  EXPECT_EQ(gain(slower.proof().without, slower.proof().with), 0);
}

TEST(ValidatedStrategy, MostlyWaitingThread_UsesWallClock) {
  Program program(k_slow, k_fast, false);
  program.works = [](int, PlaceId) { return 0.3; };
  program.run(6, slow_takes_longer);
  EXPECT_EQ(program.proof().with.value, 1);
}

TEST(ValidatedStrategy, LosingPlan_IsUndoneAfterTwoIterations) {
  Program program(k_fast, k_slow, false);
  EXPECT_EQ(program.run(9, slow_takes_longer),
            (Places{k_fast, k_fast, k_slow, k_slow, k_slow, k_fast, k_fast, k_fast, k_fast}));
  EXPECT_TRUE(program.proof().undone);
  EXPECT_EQ(gain(program.proof().without, program.proof().with), -1);
  ASSERT_EQ(program.requests.notes.size(), 1);
  EXPECT_NE(program.requests.notes[0].find("100.0 % longer"), std::string::npos) << program.requests.notes[0];
}

TEST(ValidatedStrategy, ProgramSlowsDownItself_KeepsPlan) {
  Program program(k_slow, k_fast, false);
  const auto places = program.run(12, slows_down);
  EXPECT_EQ(places.back(), k_fast);
  // Without the plan for two iterations, and never again.
  EXPECT_EQ(std::count(places.begin() + 2, places.end(), k_slow), 2);
  EXPECT_FALSE(program.proof().undone);
}

TEST(ValidatedStrategy, GivenPlanAsSlowAsPredicted_IsUndone) {
  Program program(k_slow, k_slow, true, 2);
  EXPECT_EQ(program.run(6, slow_takes_longer), (Places{k_slow, k_slow, k_fast, k_fast, k_fast, k_fast}));
  EXPECT_TRUE(program.proof().undone);
}

TEST(ValidatedStrategy, SmallLoss_IsDetectedOverManyIterations) {
  Program program(k_slow, k_fast, false);
  const auto places = program.run(60, [](int, PlaceId place) { return place == k_slow ? 1 : 1.04; });
  EXPECT_EQ(std::count(places.begin() + 2, places.begin() + 18, k_slow), 0);
  EXPECT_EQ(places.back(), k_slow);
  EXPECT_TRUE(program.proof().undone);
}

TEST(ValidatedStrategy, WrongGivenPlan_IsUndoneAfterTwoIterations) {
  for (const double predicted : {0.0, 1.0}) {
    Program program(k_fast, k_slow, true, predicted);
    EXPECT_EQ(program.run(8, slow_takes_longer),
              (Places{k_slow, k_slow, k_fast, k_fast, k_fast, k_fast, k_fast, k_fast}));
    EXPECT_TRUE(program.proof().undone);
  }
}

TEST(ValidatedStrategy, GivenPlanBetterThanNone_IsReinstated) {
  Program program(k_fast, k_fast, true, 0.5);
  program.context.budget[k_fast] = Bytes{0};  // without a plan it would be in slow memory
  program.guarded.emplace(program.context, std::make_unique<OneMove>(k_fast, true), true, true,
                          PredictedTimes{Seconds{}, Seconds{0.5}});
  EXPECT_EQ(program.run(6, slow_takes_longer), (Places{k_fast, k_fast, k_slow, k_fast, k_fast, k_fast}));
  EXPECT_FALSE(program.proof().undone);
  EXPECT_EQ(program.proof().without.value, 2);
}

TEST(ValidatedStrategy, LoopOfTimeIntervals_IsNotJudged) {
  Program program(k_fast, k_slow, false);
  EXPECT_EQ(program.run(6, slow_takes_longer, true).back(), k_slow);
  EXPECT_TRUE(program.requests.proofs.empty());
}

// The gain compares the plan's first iterations with the last ones before it, however the program continues.
TEST(ValidatedStrategy, LaterSpeedup_IsNoGain) {
  for (const double later : {0.1, 3.0}) {
    Program program(k_slow, k_fast, false);
    program.run(100, [&](int i, PlaceId place) { return (place == k_slow ? 1 : 0.9) * (i < 20 ? 1 : later); });
    EXPECT_NEAR(gain(program.proof().without, program.proof().with), 0.1, 1e-12) << later;
    EXPECT_EQ(program.proof().iterations_with, later < 1 ? Evidence::k_max : 2 * Evidence::k_max);  // once away
    EXPECT_FALSE(program.proof().undone);
  }
}

// A converging solver: each iteration takes 2 % less than the one before it, whatever the place.
TEST(ValidatedStrategy, DriftingProgram_ReportsNoGain) {
  for (const double rate : {0.98, 1.02}) {
    Program program(k_slow, k_fast, false);
    const auto places = program.run(80, [&](int i, PlaceId) { return std::pow(rate, i); });
    EXPECT_EQ(places.back(), k_fast);
    EXPECT_TRUE(program.requests.proofs.empty()) << rate;
    ASSERT_FALSE(program.requests.notes.empty());
    EXPECT_NE(program.requests.notes.back().find("is not known"), std::string::npos);
  }
}

// The loop's first iteration populates pages and caches.
TEST(ValidatedStrategy, FirstIteration_IsNoBaseline) {
  Program program(k_slow, k_fast, false);
  program.run(10, [](int i, PlaceId place) { return i == 0 ? 9 : place == k_slow ? 2.0 : 1.0; });
  EXPECT_EQ(program.proof().without.value, 2);
  EXPECT_EQ(program.proof().iterations_without, 1);
}

TEST(ValidatedStrategy, PlanWithoutMoves_ReportsNoGain) {
  Program program(k_fast, k_fast, false);
  program.run(10, [](int i, PlaceId) { return i < 2 ? 2 : 1; });
  EXPECT_TRUE(program.requests.proofs.empty());
}

// Slower by more than noise, but not each iteration than each without the plan: two of them prove no loss.
TEST(ValidatedStrategy, OverlappingTimes_AreNoLoss) {
  Program program(k_slow, k_fast, false);
  program.guarded.emplace(program.context, std::make_unique<OneMove>(k_fast, false), false, false,
                          PredictedTimes{});
  const auto places = program.run(8, [](int i, PlaceId place) {
    if (place == k_slow) return 1.3;
    return i % 2 == 0 ? 1.2 : 1.6;
  });
  EXPECT_EQ(std::count(places.begin() + 2, places.end(), k_slow), 0);
}

TEST(ValidatedStrategy, LossBeyondNoise_IsDetectedInTwoIterations) {
  for (const auto& [slower, undone] : {std::pair{1.045, false}, {1.06, true}}) {
    Program program(k_slow, k_fast, false);
    const auto places = program.run(12, [&](int, PlaceId place) { return place == k_slow ? 1 : slower; });
    EXPECT_EQ(places.back(), undone ? k_slow : k_fast) << slower;
  }
}

// Iterations of 10 ms are compared by sixteen, or by those of 0.1 s.
TEST(ValidatedStrategy, ShortIterations_AreJudgedByMany) {
  Program program(k_fast, k_slow, false);
  const auto places = program.run(60, [](int, PlaceId place) { return place == k_fast ? 1e-3 : 2e-3; });
  EXPECT_EQ(std::count(places.begin(), places.begin() + 17, k_slow), 0);  // sixteen to compare with
  EXPECT_EQ(std::count(places.begin() + 17, places.end(), k_slow), 17);   // and the one in which it came
  EXPECT_TRUE(program.proof().undone);
}

TEST(IterationTimes, EqualHalves_AreSteady) {
  IterationTimes times;
  EXPECT_TRUE(times.is_steady());
  for (int i = 0; i < 100; ++i) times.add(Seconds{i % 3 == 0 ? 1.2 : 1.0}, Seconds{1});
  EXPECT_TRUE(times.is_steady());
  EXPECT_EQ(times.last(16).count(), 16);
  for (int i = 0; i < 8; ++i) times.add(Seconds{2}, Seconds{1});
  EXPECT_FALSE(times.last(16).is_steady());
  EXPECT_TRUE(times.last(8).is_steady());
  EXPECT_EQ(times.last(8).median().value, 2);
}

TEST(IsBeyondNoise, SameDistribution_DiffersRarely) {
  std::minstd_rand random(5);
  for (const int count : {1, 2, 4, 16, 64}) {
    int beyond = 0;
    constexpr int k_rounds = 2000;
    for (int round = 0; round < k_rounds; ++round) {
      IterationTimes first, second;
      for (int i = 0; i < 16; ++i) first.add(Seconds{1 + static_cast<double>(random() % 1000)}, {});
      for (int i = 0; i < count; ++i) second.add(Seconds{1 + static_cast<double>(random() % 1000)}, {});
      beyond += is_beyond_noise(first, second) ? 1 : 0;
    }
    // One of 16 is the longest by chance in 1 of 17 cases, and the shortest in as many.
    EXPECT_LT(beyond, k_rounds * (count == 1 ? 0.14 : 0.065)) << count;
    EXPECT_GT(beyond, k_rounds * 0.005) << count;
  }
}

TEST(IsBeyondNoise, ShiftedTimes_AreDetected) {
  IterationTimes first, second;
  EXPECT_FALSE(is_beyond_noise(first, second)) << "no times";
  for (int i = 0; i < 16; ++i) {
    first.add(Seconds{1 + 0.01 * i}, {});
    second.add(Seconds{1.1 + 0.01 * i}, {});
  }
  EXPECT_TRUE(is_beyond_noise(first, second));
  EXPECT_TRUE(is_beyond_noise(second, first));
  EXPECT_FALSE(is_beyond_noise(first, first));
}

TEST(ValidatedStrategy, Noise_IsNoLoss) {
  Program program(k_slow, k_fast, false);
  // Each iteration with the plan is slower, by less than noise.
  const auto places =
      program.run(20, [](int i, PlaceId place) { return place == k_slow ? 1 : 1.02 + 0.0001 * i; });
  EXPECT_EQ(std::count(places.begin() + 2, places.end(), k_slow), 0);
}

}  // namespace
}  // namespace terrace::strategy
