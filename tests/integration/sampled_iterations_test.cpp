// Compares recordings with sampled iterations (--every) with complete recordings of the same programs: totals,
// misses of objects allocated in skipped iterations, and exact repeatability.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "program_fixture.hpp"

namespace terrace::test {
namespace {

namespace fs = std::filesystem;

class SampledIterations : public ProgramTest {
 protected:
  SampledIterations() : ProgramTest("every") {
    for (const char* name : {"cg", "mg"})
      fs::create_symlink(std::string(TERRACE_HOOKED) + "/" + name, root_ + "/" + name);
  }
  void build(const std::string& options, const std::string& source = "every.c",
             const std::string& compiler = TERRACE_WRAPPERS "/terrace-cc") {
    const auto built =
        run(compiler + " -O1 -g -o program " + options +
            " -I" TERRACE_SOURCE_DIR "/include " TERRACE_SOURCE_DIR "/tests/integration/programs/" + source);
    ASSERT_EQ(built.status, 0) << built.output;
  }
  // Returns the output of program and launcher. Exact counters cost nothing: observed iterations take as long as
  // others.
  std::string record(const std::string& options, const std::string& program, const std::string& file) {
    fs::remove(root_ + "/" + file);
    const auto done = run(TERRACE_LAUNCHER " record -m unimem-lat4 --collector exact --cache l3=120KiB " +
                          options + " -o " + file + " -- ./" + program);
    EXPECT_EQ(done.status, 0) << done.output;
    return done.output;
  }
  // Expects equality within a share of the larger value.
  void expect_near(const std::string& query, double share) {
    const auto whole = number("whole.terrace", query);
    EXPECT_NEAR(number("some.terrace", query), whole, share * whole) << query;
  }
};

TEST_F(SampledIterations, Workload_SampledIterations_CountsAsFullyObserved) {
  for (const auto& [program, observed, of] :
       {std::tuple{"cg --class S", 6, 15}, std::tuple{"mg --class S", 2, 4}}) {
    const auto whole = record("--every 1", program, "whole.terrace");
    const auto some = record("--every 4", program, "some.terrace");
    EXPECT_EQ(whole.find("observed"), std::string::npos) << whole;
    EXPECT_NE(some.find("observed " + std::to_string(observed) + " of " + std::to_string(of) +
                        " iterations; the others count as the last one observed\n"),
              std::string::npos)
        << some;
    EXPECT_NE(some.find("SUCCESSFUL"), std::string::npos) << some;
    // MG's last iteration computes a norm, a thirtieth of it, which is not observed.
    expect_near("SELECT ended - begun FROM loop", 0.03);
    expect_near("SELECT accesses FROM counters", 0.01);
    expect_near("SELECT misses FROM counters", 0.01);
    expect_near("SELECT core + exposed + bandwidth_bound + charged FROM counters", 0.03);
    expect_near("SELECT count(*) FROM phase_instance", 0);
    EXPECT_EQ(number("some.terrace", "SELECT count(*) FROM iteration"), observed);
    EXPECT_EQ(number("some.terrace", "SELECT observed FROM loop"), observed);
    // The clock is the sum of its parts.
    EXPECT_NEAR(number("some.terrace", "SELECT core + exposed + bandwidth_bound + waited + charged FROM counters"),
                number("some.terrace", "SELECT ended FROM run"), 1e-9);
  }
}

// Iterations take as long whether they are observed or not, also where their phases are inlined loops.
TEST_F(SampledIterations, UnobservedIterations_InlinedLoopsAndCalls_TakeTheTimeOfObservedOnes) {
  // `make soak` has all levels.
  const std::vector<std::string> levels = std::getenv("TERRACE_INLINED_LEVELS")
                                              ? std::vector<std::string>{"-O0", "-O2"}
                                              : std::vector<std::string>{"-O2"};
  for (const std::string compiler :
       {TERRACE_WRAPPERS "/terrace-cc", "env TERRACE_CC=clang " TERRACE_WRAPPERS "/terrace-cc"}) {
    if (compiler.starts_with("env ") && run("clang --version").status != 0) continue;
    for (const std::string& level : levels)
      for (const std::string body : {"1", "2", "3", "4", "5"}) {
        SCOPED_TRACE(compiler + " " + level + ", body " + body);
        build(level + " -DBODY=" + body, "inlined.c", compiler);
        record("--every 1", "program 24", "whole.terrace");
        record("--every 4", "program 24", "some.terrace");
        EXPECT_EQ(number("whole.terrace", "SELECT iterations FROM loop"), 22);
        EXPECT_EQ(number("some.terrace", "SELECT iterations FROM loop"), 22);
        EXPECT_LT(number("some.terrace", "SELECT observed FROM loop"), 12);
        expect_near("SELECT ended - begun FROM loop", 0.02);
        expect_near("SELECT accesses FROM counters", 0.02);
        EXPECT_EQ(number("some.terrace",
                         "SELECT count(*) FROM (SELECT 1 FROM phase_instance GROUP BY phase HAVING "
                         "max(ended - begun) <= 0)"),
                  0)
            << "phases without time";
      }
  }
}

TEST_F(SampledIterations, Run_Repeated_GivesTheSameDigits) {
  record("--every 4", "cg --class S", "some.terrace");
  const auto first = rows("some.terrace", k_of_the_execution);
  record("--every 4", "cg --class S", "some.terrace");
  EXPECT_TRUE(first == rows("some.terrace", k_of_the_execution));
}

// Iterations 0, 1, 5 and 6 are observed; the block is made in 3.
TEST_F(SampledIterations, Object_AllocatedInASkippedIteration_HasItsOwnMisses) {
  build("");
  const auto whole = record("--every 1", "program 12", "whole.terrace");
  const auto some = record("--every 4", "program 12", "some.terrace");
  EXPECT_EQ(whole.substr(0, whole.find('\n')), some.substr(0, some.find('\n')));
  const std::string of_late =
      "SELECT coalesce(sum(exposure), 0) FROM cell JOIN iteration ON iteration.id = cell.iteration JOIN object ON "
      "cell.chunk BETWEEN first_chunk AND first_chunk + chunks - 1 WHERE object.name LIKE 'make_late%' AND "
      "number ";
  EXPECT_EQ(number("some.terrace", of_late + "< 3"), 0);
  EXPECT_GT(number("some.terrace", of_late + "= 5"), 0);
  expect_near(of_late + "= 6", 0.1);  // sampled at other moments
  expect_near(
      "SELECT read_lines FROM (SELECT sum(read_lines) AS read_lines FROM cell JOIN iteration ON "
      "iteration.id = cell.iteration WHERE number = 6)",
      0.1);
  // Iterations 3 and 4 are estimated from 1, which had no such block.
  EXPECT_LT(number("some.terrace", "SELECT accesses FROM counters"),
            number("whole.terrace", "SELECT accesses FROM counters"));
}

TEST_F(SampledIterations, Threads_SeveralOfThem_AreFullyObserved) {
  build("-fopenmp");
  record("--every 4", "program 12 1", "some.terrace");
  EXPECT_EQ(number("some.terrace", "SELECT observed FROM loop"), 4);
  const auto output = record("--every 4", "program 12 2", "some.terrace");
  EXPECT_EQ(number("some.terrace", "SELECT observed FROM loop"), 12);
  EXPECT_EQ(output.find("observed"), std::string::npos) << output;
  record("--every 1", "program 12 2", "whole.terrace");
  expect_near("SELECT ended FROM run", 0);
}

TEST_F(SampledIterations, Run_NeedingAllAccesses_IsNotSampled) {
  for (const std::string option : {"--misses app.misses", "--exact"}) {
    const auto refused = run(TERRACE_LAUNCHER " record --every 4 " + option + " -- ./cg --class S");
    EXPECT_EQ(refused.status, 2);
    EXPECT_EQ(refused.output, "terrace: --every 4 leaves iterations out and " +
                                  option.substr(0, option.find(' ')) +
                                  " keeps all of them; give one of the two\n");
    record(option, "cg --class S", "some.terrace");
    EXPECT_EQ(number("some.terrace", "SELECT observed FROM loop"), 15);
  }
}

}  // namespace
}  // namespace terrace::test
