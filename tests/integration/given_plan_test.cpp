// Tests messages about a given plan: before the run, if the machine lacks a place; at its end, about unused
// entries.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "program_fixture.hpp"

namespace terrace::test {
namespace {

class GivenPlan : public ProgramTest {
 protected:
  GivenPlan() : ProgramTest("given-plan") {
    const auto built = run(TERRACE_WRAPPERS "/terrace-cc -O2 -g -DMARKED -o steps " TERRACE_SOURCE_DIR
                                            "/tests/integration/programs/process/steps.c");
    EXPECT_EQ(built.status, 0) << built.output;
    // This is the same machine, adapted to this one: all memory is this node.
    std::ifstream simulated(TERRACE_SOURCE_DIR "/machines/unimem-lat4.toml");
    std::ofstream here(root_ + "/here.toml");
    for (std::string line; std::getline(simulated, line);)
      here << line << '\n' << (line == "[[place]]" ? "numa_node = 0\n" : "");
  }
  // Returns the launcher's output of a run with the plan, without the program's.
  Outcome under(const std::string& plan, const std::string& verb = "simulate") {
    std::ofstream(root_ + "/plan.toml") << "schema = 2\n" << plan;
    std::filesystem::remove(root_ + "/x.terrace");
    const std::string machine = verb.starts_with("run") ? "here.toml" : "unimem-lat4";
    return run("sh -c '" TERRACE_LAUNCHER " " + verb + " -m " + machine +
               " --plan plan.toml -o x.terrace -- ./steps 2>&1 > /dev/null'");
  }
};

const std::string k_phases = "loop = \"steps\"\nphases = [\"forth\", \"back\", \"norm\"]\n";
std::string on_dram(const std::string& name) { return "[[object]]\nname = \"" + name + "\"\nplace = \"dram\"\n"; }

const std::string k_all = on_dram("*");

TEST_F(GivenPlan, Plan_PlaceNotInMachine_IsRefused) {
  const std::string there =
      " is neither a kind nor a place of machine 'unimem-lat4'; there are the kinds dram, nvm and the places "
      "dram, nvm; `terrace plan PROFILE --machine FILE` makes one for it\n";
  auto done = under("[[object]]\nname = \"made steps.c:20\"\nplace = \"drma\"\n");
  EXPECT_EQ(done.status, 2);
  EXPECT_EQ(done.output, "terrace: plan.toml: object 'made steps.c:20': place 'drma'" + there);
  done = under("[[object]]\nname = \"a\"\nchunks = 2\nparts = { drma = \"1\" }\n");
  EXPECT_EQ(done.status, 2);
  EXPECT_EQ(done.output, "terrace: plan.toml: object 'a': place 'drma'" + there);
  done = under(k_phases +
               "[[object]]\nname = \"a\"\n[[segment]]\nname = \"back\"\nmoves = [{ object = \"a\", to = "
               "\"drma\" }]\n");
  EXPECT_EQ(done.status, 2);
  EXPECT_EQ(done.output, "terrace: plan.toml: object 'a': place 'drma'" + there);
}

TEST_F(GivenPlan, Plan_UnusedEntries_AreReported) {
  EXPECT_EQ(under(k_phases + k_all).output.find("plan:"), std::string::npos);
  const auto done =
      under("machine = \"unimem-bw2\"\nloop = \"steps\"\n" +
            std::string("phases = [\"forth\", \"back\", \"tail\"]\n") + k_all + "[[object]]\nname = \"stays\"\n" +
            on_dram("e") + on_dram("b*") + on_dram("c") + on_dram("d") + on_dram("a"));
  EXPECT_EQ(done.status, 0);
  const std::string warning = "terrace: warning: plan: ";
  for (const char* sentence : {"no phase 'tail' began\n", "the program had no object 'a', 'b*', 'c' and 2 more\n",
                               "it was made for the machine 'unimem-bw2', and this is 'unimem-lat4'\n"})
    EXPECT_NE(done.output.find(warning + sentence), std::string::npos) << sentence << done.output;
}

// Returns whether the system permits userfaultfd: plans are then followed by sentinel pages, else by time.
bool may_wait_for_faults() {
  return syscall(SYS_userfaultfd, O_CLOEXEC) >= 0 || open("/dev/userfaultfd", O_RDWR | O_CLOEXEC) >= 0;
}

// On real memory plans are followed by touches or time, not by access counts.
TEST_F(GivenPlan, Plan_ProgressUnavailableOnRealMemory_IsRefused) {
  const std::string usual = may_wait_for_faults() ? "sentinel" : "timer";
  const std::string instead = "; give --progress " + usual + "\n";
  auto done = under("progress = \"instructions\"\n" + k_phases + k_all, "run");
  EXPECT_EQ(done.status, 2);
  EXPECT_TRUE(done.output.starts_with("terrace: --plan: its segments begin by instructions: ")) << done.output;
  EXPECT_TRUE(done.output.ends_with(instead)) << done.output;
  // Uses sentinel pages, if the process may wait for page faults.
  const bool may_wait = may_wait_for_faults();
  done = under("progress = \"sentinel\"\n" + k_phases + k_all, "run");
  EXPECT_EQ(done.status, may_wait ? 0 : 2) << done.output;
  EXPECT_EQ(done.output.find("this system does not permit userfaultfd") == std::string::npos, may_wait)
      << done.output;
  done = under(k_phases + k_all, "run --progress instructions");
  EXPECT_EQ(done.status, 2);
  EXPECT_TRUE(done.output.starts_with("terrace: --progress instructions: ")) << done.output;
  EXPECT_TRUE(done.output.ends_with(instead)) << done.output;
  EXPECT_EQ(std::ranges::count(done.output, '\n'), 1);
  done = under("progress = \"years\"\n" + k_phases + k_all, "run");
  EXPECT_EQ(done.status, 2);
  EXPECT_NE(done.output.find("there are accesses, instructions, sentinel, timer\n"), std::string::npos)
      << done.output;
}

TEST_F(GivenPlan, Plan_TimedInAccessesOnRealMemory_IsConvertedAndReported) {
  const std::string usual = may_wait_for_faults() ? "sentinel" : "timer";
  const std::string sentence =
      "--plan: its segments begin by accesses, and a run on real memory counts no accesses while it follows a "
      "plan: they begin by " +
      usual + " here\n";
  const std::string phases =
      "loop = \"steps\"\nphases = [{ name = \"forth\", length = 100 }, { name = \"back\" }, { name = \"norm\" "
      "}]\n";
  const std::string moves =
      "[[object]]\nname = \"*\"\n[[segment]]\nname = \"forth 50 %\"\nmoves = [{ object = \"*\", to = \"dram\" "
      "}]\n";
  auto done = under(phases + moves, "run");
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_NE(done.output.find("terrace: " + sentence), std::string::npos) << done.output;
  // No message if it was requested, or if the plan does nothing inside phases.
  for (const auto& [plan, verb] : {std::pair(phases + moves, "run --progress timer"),
                                   std::pair("progress = \"timer\"\n" + phases + moves, "run"),
                                   std::pair(k_phases + k_all, "run"), std::pair(phases + moves, "simulate")})
    EXPECT_EQ(under(plan, verb).output.find("its segments begin by"), std::string::npos) << verb;
}

// Unused objects are reported even if the loop did not begin.
TEST_F(GivenPlan, Plan_LoopNotStarted_IsReported) {
  const auto done = under("phases = [\"tail\"]\n" + on_dram("a"));
  EXPECT_NE(done.output.find("plan: none of its phases began, such as tail; "), std::string::npos) << done.output;
  EXPECT_NE(done.output.find("plan: the program had no object 'a'\n"), std::string::npos) << done.output;
  EXPECT_EQ(done.output.find("no phase 'tail'"), std::string::npos) << done.output;
}

}  // namespace
}  // namespace terrace::test
