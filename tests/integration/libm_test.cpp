// Tests calls of libm in virtual time: their cost equals the machine file's, exactly, in executions and replays,
// and their results are libm's.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "program_fixture.hpp"

namespace terrace::test {
namespace {

namespace fs = std::filesystem;

class Libm : public ProgramTest {
 protected:
  Libm() : ProgramTest("libm") {
    machine("round", R"(exp = "10ns", powf = "20ns")");
    machine("other", R"(exp = "7.25ns", powf = "1ns")");
  }

  void machine(const std::string& name, const std::string& library,
               const std::string& instruction = "0.000001ps") {
    std::ofstream(root_ + "/" + name + ".toml") << "schema = 1\nname = \"" << name << R"("
[[domain]]
name = "node"
initiator = "cores"
[[initiator]]
name = "cores"
cores = 2
instruction_time = ")" << instruction << R"("
mlp = 10
prefetch_mlp = 20
library = { )" << library << R"( }
[[initiator.cache]]
name = "l1"
size = "32KiB"
ways = 8
latency = "1ns"
[[place]]
name = "dram"
kind = "ddr"
capacity = "16GiB"
domain = "node"
[[path]]
initiator = "cores"
place = "dram"
read = "16GB/s"
write = "16GB/s"
latency = "86ns"
)";
  }
  void build(const std::string& compiler, const std::string& source, const std::string& to,
             const std::string& options = "") {
    const auto built = run(compiler + " -D_GNU_SOURCE -O1 -g -frounding-math -o " + to + " " + options +
                           " -I" TERRACE_SOURCE_DIR "/include " TERRACE_SOURCE_DIR "/tests/integration/programs/" +
                           source + " -pthread -lm");
    ASSERT_EQ(built.status, 0) << built.output;
  }
  std::string simulate(const std::string& options, const std::string& program) {
    const auto done = run(TERRACE_LAUNCHER " simulate -q " + options + " -- ./" + program);
    EXPECT_EQ(done.status, 0) << done.output;
    return done.output;
  }
  // Returns the section's time by the program's clock.
  double seconds(const std::string& arguments, const std::string& machine = "round") {
    const auto printed = simulate("-m " + machine + ".toml -o one.terrace", "calls " + arguments);
    fs::remove(root_ + "/one.terrace");
    return std::strtod(printed.c_str(), nullptr);
  }
};

void expect_seconds(double found, double expected) { EXPECT_NEAR(found, expected, 1e-9 * expected); }

TEST_F(Libm, Calls_InVirtualTime_TakeTheMachinesTime) {
  build(TERRACE_WRAPPERS "/terrace-cc", "calls_of_libm.c", "calls");
  expect_seconds(seconds("bare 123457"), 123457 * 10e-9);
  // With loads and stores in addition, which cost nothing here.
  expect_seconds(seconds("arrays 123457"), 123457 * 20e-9);
  // Concurrently; start and end take some accesses.
  EXPECT_NEAR(seconds("threads 123456"), 123457 * 10e-9, 1e-6);
}

// Counts instructions: the same number in every iteration.
TEST_F(Libm, Loops_WithoutAccesses_TakeTime) {
  machine("slow", "exp = \"10ns\"", "1ns");
  build(TERRACE_WRAPPERS "/terrace-cc", "calls_of_libm.c", "calls");
  const auto of = [&](int calls) { return seconds("bare " + std::to_string(calls), "slow"); };
  const auto turn = (of(30000) - of(20000)) / 10000;
  EXPECT_NEAR((of(90000) - of(30000)) / 60000, turn, 1e-12);
  const auto instructions = turn / 1e-9 - 10;
  EXPECT_NEAR(instructions, std::round(instructions), 1e-6);
  EXPECT_GE(instructions, 4) << "three additions and a jump";
  EXPECT_LE(instructions, 10);
}

// A linker that finds Terrace's definitions first omits libm.
TEST_F(Libm, Function_OmittedByTheLinker_IsFound) {
  build(TERRACE_WRAPPERS "/terrace-cc", "calls_of_libm.c", "calls", "-Wl,--as-needed");
  ASSERT_EQ(run("readelf -d calls").output.find("libm.so"), std::string::npos);
  expect_seconds(seconds("bare 5000"), 5000 * 10e-9);
}

TEST_F(Libm, Replay_OfARecording_EqualsExecution) {
  build(TERRACE_WRAPPERS "/terrace-cc", "calls_of_libm.c", "calls");
  for (const std::string how : {"bare", "arrays", "threads"}) {
    const auto program = "calls " + how + " 20000";
    for (const char* file : {"app.misses", "here.terrace", "there.terrace"}) fs::remove(root_ + "/" + file);
    simulate("-m round.toml --misses app.misses -o here.terrace", program);
    simulate("-m other.toml -o there.terrace", program);
    for (const std::string configuration : {"round here", "other there"}) {
      const auto machine = configuration.substr(0, configuration.find(' '));
      const auto executed = configuration.substr(configuration.find(' ') + 1);
      const auto replayed =
          run(TERRACE_LAUNCHER " replay app.misses -q -m " + machine + ".toml -o replayed.terrace");
      ASSERT_EQ(replayed.status, 0) << replayed.output;
      EXPECT_TRUE(rows("replayed.terrace", k_of_both) == rows(executed + ".terrace", k_of_both))
          << how << " on " << machine;
      fs::remove(root_ + "/replayed.terrace");
    }
    EXPECT_FALSE(rows("here.terrace", k_of_both) == rows("there.terrace", k_of_both)) << how;
  }
}

TEST_F(Libm, Results_WithAndWithoutTerrace_AreEqual) {
  build(TERRACE_CC, "results_of_libm.c", "plain");
  build(TERRACE_WRAPPERS "/terrace-cc", "results_of_libm.c", "results");
  const auto plain = run("./plain");
  ASSERT_EQ(plain.status, 0);
  EXPECT_NE(plain.output.find("\nquiet 0x1.5f9p+15 33 0\nrounding 1\n"), std::string::npos) << plain.output;
  EXPECT_EQ(simulate("-m round.toml -o results.terrace", "results"), plain.output);
  EXPECT_EQ(run("./results").output, plain.output);
  EXPECT_EQ(run("env TERRACE=off " TERRACE_LAUNCHER " simulate -q -o off.terrace -- ./results").output,
            plain.output);
}

// A library of the program may define an unrelated function of such a name.
TEST_F(Libm, Function_OfTheSameName_IsPassedThrough) {
  std::ofstream(root_ + "/other.c") << R"(
#include <stdarg.h>
#include <stdio.h>
int log(int level, const char* format, ...) {
  va_list rest;
  va_start(rest, format);
  printf("%d: ", level);
  vprintf(format, rest);
  va_end(rest);
  return 7;
}
int tell(void) { return log(3, "%s %d %g %g %s %ld\n", "one", 2, 3.5, 4.25, "five", 6L); }
)";
  std::ofstream(root_ + "/main.c") << "int tell(void); int main(void) { return tell() - 7; }\n";
  const auto built =
      run(TERRACE_CC " -w -fno-builtin -O1 -fPIC -shared -o libother.so other.c && " TERRACE_WRAPPERS
                     "/terrace-cc -O1 -o other main.c ./libother.so -lm");
  ASSERT_EQ(built.status, 0) << built.output;
  EXPECT_EQ(simulate("-m round.toml -o other.terrace", "other"), "3: one 2 3.5 4.25 five 6\n");
}

}  // namespace
}  // namespace terrace::test
