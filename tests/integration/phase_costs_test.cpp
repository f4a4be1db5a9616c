// Tests phases with their own core times in whole programs: each is longer by its instructions times the
// difference, others are unchanged, and a replay with the same options is bit-identical.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "program_fixture.hpp"

namespace terrace::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* k_there = "--machine unimem-lat4 --planner slow-only --exact --cache l3=120KiB ";
constexpr const char* k_stencil = "stencil --side 40 --iterations 4";

class PhaseCosts : public ProgramTest {
 protected:
  PhaseCosts() : ProgramTest("phase-costs") {
    for (const char* name : {"mg", "stencil"})
      fs::create_symlink(std::string(TERRACE_HOOKED) + "/" + name, root_ + "/" + name);
  }
  void simulate(const std::string& output, const std::string& options, const std::string& program = k_stencil) {
    const auto done = run(TERRACE_LAUNCHER " simulate -q " + std::string(k_there) + "-o " + output + " " +
                          options + " -- ./" + program);
    ASSERT_EQ(done.status, 0) << done.output;
  }
  // Returns the core time C of a phase of the first iteration, by exact counters.
  double core(const std::string& store, const std::string& phase) {
    return number(store,
                  "select sum(core) from phase join iteration on id = iteration where exact and number = 0 "
                  "and phase.name = '" +
                      phase + "'");
  }
  double counter(const std::string& store, const std::string& name) {
    return number(store, "select " + name + " from counters");
  }
};

TEST_F(PhaseCosts, Phase_WithInstructionCost_IsLonger) {
  simulate("one.terrace", "--core-time 1ns");
  simulate("two.terrace", "--core-time 2ns");
  simulate("back.terrace", "--core-time 1ns --core-time 'b[a-c]ck=4ns' --core-time 'ba*=9ns'");
  for (const std::string phase : {"forth", "back"}) {
    const auto instructions = (core("two.terrace", phase) - core("one.terrace", phase)) / 1e-9;
    EXPECT_GT(instructions, 38 * 38 * 38 / 8);  // a vector of eight cells takes one at least
    const auto longer = phase == "back" ? 3e-9 * instructions : 0;
    EXPECT_NEAR(core("back.terrace", phase), core("one.terrace", phase) + longer, 1e-9 * longer) << phase;
  }
  EXPECT_EQ(number("back.terrace", "select count(*) from core_time"), 4);
  EXPECT_EQ(number("back.terrace", "select instruction_time from core_time where phase = 'back'"), 4e-9);
  EXPECT_EQ(number("back.terrace", "select sum(instruction_time) from core_time where phase <> 'back'"), 3 * 1e-9);
  EXPECT_EQ(number("back.terrace", "select core_time_fitted from run"), 1);
  EXPECT_EQ(number("one.terrace", "select count(*) from core_time"), 0);
}

// Equal times for all phases equal a program with that time; phases and the rest sum to the whole.
TEST_F(PhaseCosts, Phases_AndTheRest_SumToTheProgram) {
  simulate("one.terrace", "--core-time 1ns");
  simulate("three.terrace", "--core-time 3ns");
  simulate("all.terrace", "--core-time 1ns --core-time '*=3ns'");
  for (const char* name : {"core", "exposed", "bandwidth_bound", "accesses", "misses"})
    EXPECT_EQ(counter("all.terrace", name), counter("three.terrace", name)) << name;
  double longer = 0;
  for (const std::string phase : {"before", "forth", "back", "after"}) {
    simulate(phase + ".terrace", "--core-time 1ns --core-time " + phase + "=3ns");
    longer += counter(phase + ".terrace", "core") - counter("one.terrace", "core");
  }
  const auto instructions = counter("one.terrace", "instructions");
  EXPECT_NEAR(longer, 2e-9 * instructions, 1e-9 * longer);
}

TEST_F(PhaseCosts, Replay_OfARecording_EqualsExecution) {
  const auto built =
      run("env CXX=" TERRACE_WRAPPERS "/terrace-c++ 'CXXFLAGS=-O2 -g -fopenmp' sh " TERRACE_SOURCE_DIR
          "/workloads/build.sh threads stencil");
  ASSERT_EQ(built.status, 0) << built.output;
  for (const std::string program : {"mg --class S", "threads/stencil --side 40 --iterations 4 --threads 2"}) {
    const std::string options =
        "--core-time 0.3ns --core-time 'ba*=0.7ns' --core-time '*.[3-9]=0.9ns' "
        "--core-time before=2ns";
    simulate("recorded.terrace", "--misses app.misses", program);
    simulate("e.terrace", options, program);
    const auto replayed =
        run(TERRACE_LAUNCHER " replay app.misses -q " + std::string(k_there) + options + " -o r.terrace");
    ASSERT_EQ(replayed.status, 0) << replayed.output;
    const auto executed = rows("e.terrace", k_of_both);
    EXPECT_TRUE(executed == rows("r.terrace", k_of_both)) << program;
    EXPECT_FALSE(executed == rows("recorded.terrace", k_of_both)) << program;
    EXPECT_GT(number("r.terrace", "select count(distinct instruction_time) from core_time"), 2) << program;
    for (const char* file : {"app.misses", "recorded.terrace", "e.terrace", "r.terrace"})
      fs::remove(root_ + "/" + file);
  }
}

TEST_F(PhaseCosts, Summary_WithPhaseCosts_ShowsThem) {
  const auto done = run(TERRACE_LAUNCHER " simulate --json " + std::string(k_there) +
                        "-o x.terrace --core-time forth=2ns -- ./" + k_stencil);
  ASSERT_EQ(done.status, 0) << done.output;
  EXPECT_NE(done.output.find(R"("phases":{"after":6.25e-11,"back":6.25e-11,"before":6.25e-11,"forth":2e-09})"),
            std::string::npos)
      << done.output;
}

TEST_F(PhaseCosts, PhaseCosts_Malformed_AreRefusedInOneLine) {
  const auto done =
      run(TERRACE_LAUNCHER " simulate --core-time 1ns --core-time 2ns -- ./" + std::string(k_stencil));
  EXPECT_EQ(done.status, 2);
  EXPECT_EQ(done.output,
            "terrace: --core-time 2ns: the program's time was given already; a phase's is 'PHASE=2ns'\n");
}

}  // namespace
}  // namespace terrace::test
