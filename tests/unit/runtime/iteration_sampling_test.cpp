// Tests which iterations are observed, by the phases of a loop.
#include "runtime/iteration_sampling.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

namespace terrace::runtime {
namespace {

// Marks phases as a program does; an observed phase shows in capitals.
class Loop {
 public:
  explicit Loop(std::uint32_t every) : sampling_(every) { begin(); }
  void begin() {
    tracker_.begin_loop("main");
    sampling_.begin_loop();
  }
  std::string iteration(const std::string& phases) {
    std::string seen;
    for (const char phase : phases) {
      tracker_.on_marker(std::string(1, phase));
      seen += sampling_.on_phase(tracker_) ? static_cast<char>(phase - 'a' + 'A') : phase;
    }
    return seen;
  }
  std::string iterations(int count, const std::string& phases) {
    std::string seen;
    for (int i = 0; i < count; ++i) seen += iteration(phases) + ' ';
    return seen;
  }
  IterationSampling& sampling() { return sampling_; }

 private:
  PhaseTracker tracker_;
  IterationSampling sampling_;
};

TEST(IterationSampling, ObserveAll_ObservesEveryIteration) {
  Loop loop(4);
  loop.sampling().set_observe_all(true);
  EXPECT_EQ(loop.iterations(4, "ab"), "AB AB AB AB ");
  loop.sampling().set_observe_all(false);
  EXPECT_EQ(loop.iterations(3, "ab"), "ab AB AB ");
}

TEST(IterationSampling, EveryN_ObservesTheFirstTwoAndOneOfEachGroup) {
  Loop loop(4);
  EXPECT_EQ(loop.iterations(11, "ab"), "AB AB ab ab ab AB AB ab ab ab ab ");
  EXPECT_EQ(loop.sampling().num_observed(), 4U);
  EXPECT_FALSE(loop.sampling().is_observing());
  loop.sampling().end_loop();
  EXPECT_TRUE(loop.sampling().is_observing());
}

// Iterations with any period up to 8: each position is observed as often as the others.
TEST(IterationSampling, PeriodicIterations_AreObservedEquallyOften) {
  constexpr int k_iterations = 16'000;
  Loop loop(16);
  std::array<std::array<int, 8>, 9> seen{};
  for (int i = 0; i < k_iterations; ++i) {
    if (loop.iteration("a") != "A") continue;
    for (int turns = 2; turns <= 8; ++turns) ++seen.at(turns).at(i % turns);
  }
  for (int turns = 2; turns <= 8; ++turns) {
    const double expected = k_iterations / 16.0 / turns;
    // Tolerance: four standard deviations of as many draws.
    for (int i = 0; i < turns; ++i) EXPECT_NEAR(seen.at(turns).at(i), expected, 4 * std::sqrt(expected)) << turns;
  }
}

TEST(IterationSampling, EveryOne_ObservesEveryIteration) {
  Loop loop(1);
  EXPECT_EQ(loop.iterations(5, "ab"), "AB AB AB AB AB ");
  EXPECT_EQ(loop.sampling().num_observed(), 5U);
  EXPECT_FALSE(loop.sampling().is_sampling());
}

TEST(IterationSampling, NewPhase_IsObservedAtOnceAndTheNextIterationWhole) {
  Loop loop(100);
  EXPECT_EQ(loop.iterations(3, "abc"), "ABC ABC abc ");
  EXPECT_EQ(loop.iteration("abdc"), "abDC");  // c too: it is the fourth phase here
  EXPECT_EQ(loop.iterations(3, "abdc"), "ABDC abdc abdc ");
  EXPECT_EQ(loop.sampling().num_observed(), 3U);  // the one that was observed from d on does not count
}

TEST(IterationSampling, ShortIteration_ChangesNothing) {
  Loop loop(100);
  EXPECT_EQ(loop.iterations(3, "abc"), "ABC ABC abc ");
  EXPECT_EQ(loop.iteration("ab"), "ab");
}

TEST(IterationSampling, SecondLoop_StartsAnew) {
  Loop loop(100);
  EXPECT_EQ(loop.iterations(3, "ab"), "AB AB ab ");
  loop.sampling().end_loop();
  loop.begin();
  EXPECT_EQ(loop.iterations(3, "ab"), "AB AB ab ");
  EXPECT_EQ(loop.sampling().num_observed(), 2U);
}

TEST(IterationSampling, StopSampling_ObservesEveryIteration) {
  Loop loop(100);
  EXPECT_EQ(loop.iterations(3, "ab"), "AB AB ab ");
  loop.sampling().stop_sampling();
  EXPECT_TRUE(loop.sampling().is_observing());
  EXPECT_EQ(loop.iterations(2, "ab"), "AB AB ");
  EXPECT_EQ(loop.sampling().num_observed(), 4U);
}

}  // namespace
}  // namespace terrace::runtime
