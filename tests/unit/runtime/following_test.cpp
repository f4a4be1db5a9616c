// Which iterations are followed, by the phases that a loop goes through.
#include "runtime/following.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace terrace::runtime {
namespace {

// Marks phases as a program does; a followed phase shows in capitals.
class Loop {
 public:
  explicit Loop(std::uint32_t every) : following_(every) { begin(); }
  void begin() {
    tracker_.begin_loop("main");
    following_.begin_loop();
  }
  std::string iteration(const std::string& phases) {
    std::string seen;
    for (const char phase : phases) {
      const bool begins = tracker_.marker(std::string(1, phase)) == PhaseTracker::Step::iteration;
      seen += following_.phase(tracker_, begins) ? static_cast<char>(phase - 'a' + 'A') : phase;
    }
    return seen;
  }
  std::string iterations(int count, const std::string& phases) {
    std::string seen;
    for (int i = 0; i < count; ++i) seen += iteration(phases) + ' ';
    return seen;
  }
  Following& following() { return following_; }

 private:
  PhaseTracker tracker_;
  Following following_;
};

TEST(Following, TakesTheFirstTwoIterationsAndEveryNth) {
  Loop loop(4);
  EXPECT_EQ(loop.iterations(11, "ab"), "AB AB ab ab ab AB ab ab ab AB ab ");
  EXPECT_EQ(loop.following().iterations(), 4U);
  EXPECT_FALSE(loop.following().now());
  loop.following().end_loop();
  EXPECT_TRUE(loop.following().now());
}

TEST(Following, TakesAllWhereNothingIsLeftOut) {
  Loop loop(1);
  EXPECT_EQ(loop.iterations(5, "ab"), "AB AB AB AB AB ");
  EXPECT_EQ(loop.following().iterations(), 5U);
  EXPECT_FALSE(loop.following().samples());
}

TEST(Following, BeginsAtOnceWithAPhaseThatIsNewAndTakesTheNextIterationWhole) {
  Loop loop(100);
  EXPECT_EQ(loop.iterations(3, "abc"), "ABC ABC abc ");
  EXPECT_EQ(loop.iteration("abdc"), "abDC");  // c too: it is the fourth phase here
  EXPECT_EQ(loop.iterations(3, "abdc"), "ABDC abdc abdc ");
  EXPECT_EQ(loop.following().iterations(), 3U);  // the one that was followed from d on does not count
}

TEST(Following, IsNotSurprisedByAnIterationThatEndsEarly) {
  Loop loop(100);
  EXPECT_EQ(loop.iterations(3, "abc"), "ABC ABC abc ");
  EXPECT_EQ(loop.iteration("ab"), "ab");
}

TEST(Following, KnowsNothingOfAnotherLoop) {
  Loop loop(100);
  EXPECT_EQ(loop.iterations(3, "ab"), "AB AB ab ");
  loop.following().end_loop();
  loop.begin();
  EXPECT_EQ(loop.iterations(3, "ab"), "AB AB ab ");
  EXPECT_EQ(loop.following().iterations(), 2U);
}

TEST(Following, LeavesNothingOutOnceItIsTold) {
  Loop loop(100);
  EXPECT_EQ(loop.iterations(3, "ab"), "AB AB ab ");
  loop.following().everything();
  EXPECT_TRUE(loop.following().now());
  EXPECT_EQ(loop.iterations(2, "ab"), "AB AB ");
  EXPECT_EQ(loop.following().iterations(), 4U);
}

}  // namespace
}  // namespace terrace::runtime
