// Tests main loops of processes: detected, named by the user or by a plan, and refused.
#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "process_fixture.hpp"

namespace terrace::test {
namespace {

namespace fs = std::filesystem;

// A typical program without annotations.
TEST_F(Process, LoopFinder_UnmarkedProgram_FindsTheMainLoop) {
  const std::string loop =
      "select name || ' ' || (iterations + turns_before) || ' ' || turns_before from main_loop";
  const std::string phases = "select distinct name from phase_instance where loop >= 0 order by phase";
  ASSERT_EQ(simulate("./steps").status, 0);
  EXPECT_EQ(ask("profile.terrace", loop), std::vector<std::string>{"main:35 24 2"});
  EXPECT_EQ(ask("profile.terrace", phases), (std::vector<std::string>{"main:37", "main:39", "norm"}));
  EXPECT_EQ(ask("profile.terrace", "select count(*) from main_loop where why like '2 iterations of %'"),
            std::vector<std::string>{"1"});
  fs::remove(root / "profile.terrace");
  // Known in advance, the loop has all iterations except the one that its phases are derived from.
  ASSERT_EQ(simulate("./steps", "--loop main").status, 0);
  EXPECT_EQ(ask("profile.terrace", "select name from main_loop"), std::vector<std::string>{"main:35"})
      << "the first loop of that function";
  fs::remove(root / "profile.terrace");
  ASSERT_EQ(simulate("./steps", "--loop main:35").status, 0);
  EXPECT_EQ(ask("profile.terrace", loop), std::vector<std::string>{"main:35 24 1"});
  fs::remove(root / "profile.terrace");
  // Explicit markers override detection.
  ASSERT_EQ(simulate("./marked").status, 0);
  EXPECT_EQ(ask("profile.terrace", loop), std::vector<std::string>{"steps 24 0"});
  EXPECT_EQ(ask("profile.terrace", phases), (std::vector<std::string>{"forth", "back", "norm"}));
  fs::remove(root / "profile.terrace");
  ASSERT_EQ(simulate("./marked", "--phases auto").status, 0);
  EXPECT_EQ(ask("profile.terrace", "select iterations + turns_before from main_loop"),
            std::vector<std::string>{"24"});
  const auto both = simulate("./steps", "--phases norm --loop main:35");
  EXPECT_NE(both.status, 0);
  EXPECT_NE(both.output.find("only one"), std::string::npos) << both.output;
}

TEST_F(Process, LoopOption_FileOrPattern_SelectsTheLoop) {
  for (const char* name : {"main:35", "steps.c:35", "ma?n:35", "main_:35"}) {
    const auto outcome = simulate("./steps", std::string("--loop '") + name + "'");
    ASSERT_EQ(outcome.status, 0) << name << outcome.output;
    EXPECT_EQ(ask("profile.terrace", "select name from main_loop"), std::vector<std::string>{"main:35"}) << name;
    fs::remove(root / "profile.terrace");
  }
}

// Before the run, unless the program may still load code of that name.
TEST_F(Process, LoopOption_NoSuchName_IsRefused) {
  const auto refused = simulate("./steps", "--loop main:34 --misses not-made");
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.output,
            "terrace: --loop: in ./steps no loop is called 'main:34'; there is main:35, main:37, main:39\n");
  EXPECT_FALSE(fs::exists(root / "not-made"));
  EXPECT_FALSE(fs::exists(root / "profile.terrace"));
  const auto warned = summary("./host", "--loop smoothed");
  EXPECT_EQ(warned.status, 0);
  EXPECT_NE(warned.output.find("no loop is called 'smoothed'"), std::string::npos) << warned.output;
  EXPECT_NE(warned.output.find(", unless it loads one later\n"), std::string::npos) << warned.output;
  EXPECT_NE(warned.output.find("no main loop was seen: no loop called smoothed was entered; "), std::string::npos)
      << warned.output;
}

// system(3) starts other programs, to whose loops --loop does not apply.
TEST_F(Process, LoopOption_UnknownInAProgramThatStartsOthers_IsRefused) {
  ASSERT_EQ(
      run_program("cd '" + root.string() +
                  "' && { cat steps.c; echo 'int system(const char*);'"
                  "; echo 'int list_files(void) { return system(\"ls\"); }'; } > shell.c && " TERRACE_WRAPPERS
                  "/terrace-cc -O2 -g -o shell shell.c 2>&1")
          .status,
      0);
  const auto refused = simulate("./shell", "--loop NOSUCH:200");
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.output, "terrace: --loop: in ./shell no loop is called 'NOSUCH:200'\n");
  EXPECT_EQ(simulate("./shell", "--loop main:35").status, 0);
}

// Its lines have moved by one since the plan was made.
TEST_F(Process, Plan_LoopNotStarted_IsReported) {
  const auto made = [](const std::string& file, const std::string& source) {
    return run_program("cd '" + root.string() + "' && " + source + " > " + file +
                       ".c && " TERRACE_WRAPPERS "/terrace-cc -O2 -g -o " + file + " " + file + ".c 2>&1");
  };
  ASSERT_EQ(made("before", "cat steps.c").status, 0);
  ASSERT_EQ(made("after", "sed '34i /* Steps. */' steps.c").status, 0);
  const auto plan = [](const std::string& file, const std::string& phases) {
    std::ofstream(root / file) << "schema = 1\nloop = \"main:35\"\nphases = [" << phases
                               << "]\n[[object]]\nname = \"*\"\nplace = \"dram\"\n";
  };
  plan("plan.toml", R"("main:37", "main:39", "norm")");
  plan("other.toml", R"("main:37", "main:39")");
  const auto same = summary("./before", "--plan plan.toml");
  ASSERT_EQ(same.status, 0) << same.output;
  EXPECT_EQ(same.output.find("plan:"), std::string::npos) << same.output;
  fs::remove(root / "profile.terrace");
  const auto moved = summary("./after", "--plan plan.toml");
  ASSERT_EQ(moved.status, 0) << moved.output;
  const std::string warning = "plan: its loop, main:35, did not begin; it only said where objects are at first";
  EXPECT_NE(moved.output.find("terrace: warning: " + warning + "\n"), std::string::npos) << moved.output;
  EXPECT_EQ(ask("profile.terrace", "select text from note where severity = 'warning' and text like 'plan: %'"),
            std::vector<std::string>{warning});
  fs::remove(root / "profile.terrace");
  // A loop begins, but none of the plan's phases.
  const auto other = summary("./marked", "--plan other.toml");
  ASSERT_EQ(other.status, 0) << other.output;
  EXPECT_NE(other.output.find("terrace: warning: plan: none of its phases began, such as main:37; it only said "),
            std::string::npos)
      << other.output;
  EXPECT_EQ(
      ask("profile.terrace", "select count(*) from note where text like 'plan: made of an iteration with other%'"),
      std::vector<std::string>{"1"});
}

// The message about a loop that is too small equals that of `terrace show`.
TEST_F(Process, LoopFinder_SmallLoop_IsReported) {
  const std::string none = "terrace: no main loop was seen";
  const auto found = summary("./brief", "");
  EXPECT_TRUE(found.output.starts_with(none + ": main:")) << found.output;
  const auto name = found.output.substr(none.size() + 2, found.output.find(" took") - none.size() - 2);
  EXPECT_NE(found.output.find(" took less than 40 % of the time since it began; --loop " + name + " takes it; "),
            std::string::npos)
      << found.output;
  fs::remove(root / "profile.terrace");
  const auto named = summary("./brief", "--loop " + name);
  EXPECT_NE(named.output.find(" iterations in "), std::string::npos) << named.output;
}

// Its blocks are reallocated in each iteration and count as the same memory.
TEST_F(Process, LoopFinder_LoopInAJoinedThread_IsFound) {
  for (const char* verb : {"simulate", "record"}) {
    const auto outcome = run_program("cd '" + root.string() + "' && env XDG_CACHE_HOME='" + root.string() +
                                     "' " TERRACE_LAUNCHER " " + verb +
                                     " -q --machine unimem-lat4 -o profile.terrace -- ./pool 2>&1");
    ASSERT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_EQ(outcome.output, run_program("'" + root.string() + "/pool'").output);
    EXPECT_EQ(ask("profile.terrace", "select name || ' ' || (iterations + turns_before) from main_loop"),
              std::vector<std::string>{"work:46 24"})
        << verb;
    EXPECT_EQ(ask("profile.terrace", "select distinct name from phase_instance where loop >= 0 order by name"),
              (std::vector<std::string>{"made", "relax", "smooth"}))
        << verb;
    fs::remove(root / "profile.terrace");
  }
}

// On real memory accesses are not traced before there is a loop: work is processor time.
TEST_F(Process, LoopFinder_OnRealMemory_FindsTheMainLoop) {
  const auto outcome = run_program("cd '" + root.string() + "' && env XDG_CACHE_HOME='" + root.string() +
                                   "' " TERRACE_LAUNCHER " run -q -o profile.terrace -- ./steps 2>&1");
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_EQ(ask("profile.terrace", "select name || ' ' || (iterations + turns_before) from main_loop"),
            std::vector<std::string>{"main:35 24"});
  EXPECT_EQ(ask("profile.terrace", "select distinct name from phase_instance where loop >= 0"),
            std::vector<std::string>{"norm"})
      << "hooks tell of that call alone";
  fs::remove(root / "profile.terrace");
}

}  // namespace
}  // namespace terrace::test
