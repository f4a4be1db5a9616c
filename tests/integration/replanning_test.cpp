// Tests replanning in virtual time: a program whose access pattern changes is profiled and planned again, ends
// with the placement of a plan of its new behaviour, and replays bit-identically. A loop without misses does not
// prevent planning of later loops.
#include <gtest/gtest.h>

#include <string>

#include "program_fixture.hpp"

namespace terrace::test {
namespace {

class Replanning : public ProgramTest {
 protected:
  Replanning() : ProgramTest("again") {
    const auto built = run(TERRACE_WRAPPERS "/terrace-cc -O1 -g -o turns " TERRACE_SOURCE_DIR
                                            "/tests/integration/programs/turns.c");
    EXPECT_EQ(built.status, 0) << built.output;
  }
  void simulate(const std::string& file, const std::string& arguments, const std::string& options = "") {
    const auto done = run(TERRACE_LAUNCHER " simulate -q -o " + file + " " + options_ + options +
                          " --phases often,seldom -- ./turns " + arguments);
    ASSERT_EQ(done.status, 0) << done.output;
  }
  // Returns the bytes of the first or second array that were promoted to fast memory and stayed there.
  double in_fast(const std::string& file, int array) {
    const auto of = "(SELECT id FROM object WHERE name LIKE '%turns.c%' ORDER BY id LIMIT 1 OFFSET " +
                    std::to_string(array) + ")";
    const auto fast = "(SELECT id FROM place WHERE kind = 'dram')";
    const auto sum = [&](const std::string& side) {
      return number(file, "SELECT ifnull(sum(size), 0) FROM move WHERE NOT refused AND object = " + of + " AND " +
                              side + " = " + fast);
    };
    return sum("target") - sum("source");
  }
  double last_iteration(const std::string& file) {
    return number(file,
                  "SELECT sum(ended - begun) FROM phase_instance WHERE loop = 0 AND iteration = "
                  "(SELECT iterations - 2 FROM loop)");
  }

  const std::string options_ = "-m unimem-bw4 --cache l2=16KiB --cache l3=40KiB --fast 288KiB --planner global ";
};

TEST_F(Replanning, Plan_BehaviourChanges_AdaptsAndReplaysIdentically) {
  simulate("turned.terrace", "400 200", "--misses app.misses");
  simulate("half.terrace", "200 200 200");
  EXPECT_EQ(number("turned.terrace", "SELECT count(*) FROM plan"), 2);
  EXPECT_EQ(number("turned.terrace", "SELECT count(*) FROM iteration WHERE anew"), 1);
  EXPECT_EQ(number("turned.terrace",
                   "SELECT count(*) FROM plan WHERE why LIKE 'learned again in iteration 203: phase %, \"often\", "
                   "took %'"),
            1);
  EXPECT_EQ(in_fast("half.terrace", 1), 256 << 10);
  EXPECT_EQ(in_fast("turned.terrace", 1), 256 << 10);
  EXPECT_LE(in_fast("turned.terrace", 0), 32 << 10);
  EXPECT_LE(last_iteration("turned.terrace"), 1.01 * last_iteration("half.terrace"));

  const auto replayed = run(TERRACE_LAUNCHER " replay app.misses -q -o replayed.terrace " + options_);
  ASSERT_EQ(replayed.status, 0) << replayed.output;
  EXPECT_EQ(rows("turned.terrace", k_of_both), rows("replayed.terrace", k_of_both));
}

TEST_F(Replanning, Plan_AlternatingBehaviour_IsKept) {
  simulate("alternating.terrace", "200 1");
  EXPECT_EQ(number("alternating.terrace", "SELECT count(*) FROM plan"), 1);
  EXPECT_EQ(number("alternating.terrace", "SELECT count(*) FROM iteration"), 1);
}

TEST_F(Replanning, Loop_AfterALoopWithoutMisses_IsLearned) {
  const auto built = run(TERRACE_WRAPPERS "/terrace-cc -O1 -g -o later " TERRACE_SOURCE_DIR
                                          "/tests/integration/programs/later.c");
  ASSERT_EQ(built.status, 0) << built.output;
  const auto done = run(TERRACE_LAUNCHER " simulate -q -o later.terrace " + options_ + "-- ./later");
  ASSERT_EQ(done.status, 0) << done.output;
  EXPECT_EQ(number("later.terrace", "SELECT count(*) FROM loop WHERE name = 'first'"), 1);
  EXPECT_EQ(number("later.terrace",
                   "SELECT count(*) FROM note WHERE text LIKE '%first% had no cache miss in an object%'"),
            1);
  EXPECT_EQ(number("later.terrace", "SELECT count(*) FROM plan WHERE loop = 'second'"), 1);
  EXPECT_GE(number("later.terrace", "SELECT count(*) FROM move WHERE NOT refused"), 1);
}

}  // namespace
}  // namespace terrace::test
