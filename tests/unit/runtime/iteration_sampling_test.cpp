// Which iterations are observed, by the phases that a loop goes through.
#include "runtime/iteration_sampling.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace terrace::runtime {
namespace {

// Marks phases as a program does; a observed phase shows in capitals.
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
      const bool begins = tracker_.marker(std::string(1, phase)) == PhaseTracker::Step::iteration;
      seen += sampling_.phase(tracker_, begins) ? static_cast<char>(phase - 'a' + 'A') : phase;
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

TEST(IterationSampling, TakesAllWhileHeld) {
  Loop loop(4);
  loop.sampling().hold(true);
  EXPECT_EQ(loop.iterations(4, "ab"), "AB AB AB AB ");
  loop.sampling().hold(false);
  EXPECT_EQ(loop.iterations(3, "ab"), "ab AB ab ");
}

TEST(IterationSampling, TakesTheFirstTwoIterationsAndEveryNth) {
  Loop loop(4);
  EXPECT_EQ(loop.iterations(11, "ab"), "AB AB ab ab ab AB ab ab ab AB ab ");
  EXPECT_EQ(loop.sampling().iterations(), 4U);
  EXPECT_FALSE(loop.sampling().now());
  loop.sampling().end_loop();
  EXPECT_TRUE(loop.sampling().now());
}

TEST(IterationSampling, TakesAllWhereNothingIsLeftOut) {
  Loop loop(1);
  EXPECT_EQ(loop.iterations(5, "ab"), "AB AB AB AB AB ");
  EXPECT_EQ(loop.sampling().iterations(), 5U);
  EXPECT_FALSE(loop.sampling().samples());
}

TEST(IterationSampling, BeginsAtOnceWithAPhaseThatIsNewAndTakesTheNextIterationWhole) {
  Loop loop(100);
  EXPECT_EQ(loop.iterations(3, "abc"), "ABC ABC abc ");
  EXPECT_EQ(loop.iteration("abdc"), "abDC");  // c too: it is the fourth phase here
  EXPECT_EQ(loop.iterations(3, "abdc"), "ABDC abdc abdc ");
  EXPECT_EQ(loop.sampling().iterations(), 3U);  // the one that was observed from d on does not count
}

TEST(IterationSampling, IsNotSurprisedByAnIterationThatEndsEarly) {
  Loop loop(100);
  EXPECT_EQ(loop.iterations(3, "abc"), "ABC ABC abc ");
  EXPECT_EQ(loop.iteration("ab"), "ab");
}

TEST(IterationSampling, KnowsNothingOfAnotherLoop) {
  Loop loop(100);
  EXPECT_EQ(loop.iterations(3, "ab"), "AB AB ab ");
  loop.sampling().end_loop();
  loop.begin();
  EXPECT_EQ(loop.iterations(3, "ab"), "AB AB ab ");
  EXPECT_EQ(loop.sampling().iterations(), 2U);
}

TEST(IterationSampling, LeavesNothingOutOnceItIsTold) {
  Loop loop(100);
  EXPECT_EQ(loop.iterations(3, "ab"), "AB AB ab ");
  loop.sampling().everything();
  EXPECT_TRUE(loop.sampling().now());
  EXPECT_EQ(loop.iterations(2, "ab"), "AB AB ");
  EXPECT_EQ(loop.sampling().iterations(), 4U);
}

}  // namespace
}  // namespace terrace::runtime
