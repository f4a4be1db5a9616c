// What happens to a process besides its accesses: it sleeps, loads libraries, forks while its threads are busy.
// The programs are those of tests/integration/programs/process, built with the wrappers.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "run_program.hpp"

namespace terrace::test {
namespace {

namespace fs = std::filesystem;

class Process : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    root = fs::temp_directory_path() / ("process-" + std::to_string(getpid()));
    fs::copy(TERRACE_SOURCE_DIR "/tests/integration/programs/process", root, fs::copy_options::recursive);
    const auto made = run_program("env -u MAKEFLAGS -u MAKELEVEL make -s -C '" + root.string() +
                                  "' CC=" TERRACE_WRAPPERS "/terrace-cc 2>&1");
    ASSERT_EQ(made.status, 0) << made.output;
  }
  static void TearDownTestSuite() { fs::remove_all(root); }
  void TearDown() override {
    for (const auto& entry : fs::directory_iterator(root))
      if (entry.path().extension() == ".terrace") fs::remove(entry.path());
  }

  // A program that hangs is ended, with status 124. The launcher's own words go to standard error.
  static Outcome simulate(const std::string& command, const std::string& options = "") {
    return run_program("cd '" + root.string() + "' && XDG_CACHE_HOME='" + root.string() +
                       "' timeout 600 " TERRACE_LAUNCHER " simulate -q --machine unimem-lat4 -o profile.terrace " +
                       options + " -- " + command + " 2>&1");
  }
  // What the launcher itself says.
  static Outcome summary(const std::string& command, const std::string& options) {
    return run_program("cd '" + root.string() + "' && XDG_CACHE_HOME='" + root.string() +
                       "' timeout 600 " TERRACE_LAUNCHER " simulate --machine unimem-lat4 -o profile.terrace " +
                       options + " -- " + command + " 2>&1 > /dev/null");
  }
  // What a query to a profile gives, row by row, first column only.
  static std::vector<std::string> ask(const std::string& file, const std::string& query) {
    std::vector<std::string> rows;
    sqlite3* store = nullptr;
    EXPECT_EQ(sqlite3_open_v2((root / file).c_str(), &store, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(
                  store, query.c_str(),
                  [](void* out, int, char** values, char**) {
                    static_cast<std::vector<std::string>*>(out)->emplace_back(values[0] ? values[0] : "");
                    return 0;
                  },
                  &rows, nullptr),
              SQLITE_OK)
        << sqlite3_errmsg(store);
    sqlite3_close(store);
    return rows;
  }

  static fs::path root;
};

fs::path Process::root;

TEST_F(Process, SleepsInVirtualTime) {
  const auto outcome = simulate("./sleeper");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output,
            "sleep 0 1000 ms\nnanosleep 0 1000 ms\nclock_nanosleep 0 1000 ms\nuntil 0 1000 ms\nat once 0 0 ms\n"
            "usleep 0 500 ms\npoll 0 250 ms\nppoll 0 250 ms\nselect 0 250 ms\npselect 0 250 ms\nready 1 0 ms\n"
            "refused 1 0 ms\n");
}

// Four days, which nobody waits for.
TEST_F(Process, ReturnsFromItsSleepAtOnceInEveryConfiguration) {
  const auto outcome =
      simulate("./sleeper 86400", "--config 'label=one planner=slow-only' --config 'label=two planner=fast-only'");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  for (const char* configuration : {"one", "two"}) {
    const auto slept = ask("profile." + std::string(configuration) + ".terrace", "select round(ended) from run");
    ASSERT_EQ(slept.size(), 1U);
    EXPECT_EQ(slept.front(), "345602.0") << configuration;
  }
}

TEST_F(Process, SaysWhoseCoreTimeItIs) {
  const auto summary = [](const std::string& options) { return Process::summary("./sleeper 0", options).output; };
  const std::string note =
      "compute uncalibrated: core time is the machine's 62.5ps an instruction, not the program's";
  EXPECT_NE(summary("").find(note), std::string::npos);
  EXPECT_EQ(ask("profile.terrace", "select core_time_fitted from run"), std::vector<std::string>{"0"});
  fs::remove(root / "profile.terrace");
  const std::string fields = R"("core_time":{"instruction_s":6.25e-11,"calibrated":false})";
  const auto json = summary("--json");
  EXPECT_NE(json.find(fields), std::string::npos) << json;
  EXPECT_EQ(json.find(note), std::string::npos);
  fs::remove(root / "profile.terrace");
  EXPECT_EQ(summary("--core-time 0.25ns").find("uncalibrated"), std::string::npos);
  EXPECT_EQ(ask("profile.terrace", "select core_time_fitted from run"), std::vector<std::string>{"1"});
  EXPECT_EQ(ask("profile.terrace", "select instruction_time from initiator limit 1"),
            std::vector<std::string>{"2.5e-10"});
}

// Where the system puts arguments and variables depends on how much environment there is: nobody may see it.
TEST_F(Process, GivesTheSameDigitsInEveryEnvironment) {
  const auto digits = [](const std::string& variables) {
    const auto outcome =
        run_program("cd '" + root.string() + "' && env HOME_OF_WORDS=/a/b/c/d " + variables + " XDG_CACHE_HOME='" +
                    root.string() + "' " TERRACE_LAUNCHER " simulate -q --machine unimem-lat4 -o profile.terrace" +
                    " -- ./words --class S --iterations 40 2>&1");
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    auto found = ask("profile.terrace",
                     "select accesses || ' ' || misses || ' ' || format('%.17g', ended) from counters join "
                     "run on run.id = run");
    fs::remove(root / "profile.terrace");
    return found;
  };
  const auto expected = digits("");
  ASSERT_EQ(expected.size(), 1U);
  std::string many;
  for (int i = 0; i < 5; ++i)
    many += " V" + std::to_string(i) + "=" + std::string(static_cast<std::size_t>(i), 'x');
  EXPECT_EQ(digits(many), expected);
  for (const std::size_t size : {1, 17, 48, 777, 3333, 3349, 20000})
    EXPECT_EQ(digits("A=" + std::string(size, 'x')), expected) << size;
}

// Their names are those that the linker knows: nobody could describe the library beforehand.
TEST_F(Process, KnowsTheFunctionsOfLibrariesThatItLoads) {
  for (const char* phases : {"--phases smooth,relax", "--phases auto"}) {
    const auto outcome = simulate("./host", phases);
    ASSERT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_EQ(outcome.output, "10\n");
    EXPECT_EQ(ask("profile.terrace", "select distinct name from phase_instance where name <> '' order by name"),
              (std::vector<std::string>{"relax", "smooth"}))
        << phases;
    fs::remove(root / "profile.terrace");
  }
}

// A program as people have it, with nothing said of its phases.
TEST_F(Process, FindsTheMainLoop) {
  const std::string loop =
      "select name || ' ' || (iterations + turns_before) || ' ' || turns_before from main_loop";
  const std::string phases = "select distinct name from phase_instance where loop >= 0 order by phase";
  ASSERT_EQ(simulate("./steps").status, 0);
  EXPECT_EQ(ask("profile.terrace", loop), std::vector<std::string>{"main:35 24 2"});
  EXPECT_EQ(ask("profile.terrace", phases), (std::vector<std::string>{"main:37", "main:39", "norm"}));
  EXPECT_EQ(ask("profile.terrace", "select count(*) from main_loop where why like '2 turns of %'"),
            std::vector<std::string>{"1"});
  fs::remove(root / "profile.terrace");
  // Known before it begins, it has all its turns but the one that its phases are read from.
  ASSERT_EQ(simulate("./steps", "--loop main").status, 0);
  EXPECT_EQ(ask("profile.terrace", "select name from main_loop"), std::vector<std::string>{"main:35"})
      << "the first loop of that function";
  fs::remove(root / "profile.terrace");
  ASSERT_EQ(simulate("./steps", "--loop main:35").status, 0);
  EXPECT_EQ(ask("profile.terrace", loop), std::vector<std::string>{"main:35 24 1"});
  fs::remove(root / "profile.terrace");
  // What the program says goes before what is found.
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

TEST_F(Process, TakesALoopByItsFileAndByAPattern) {
  for (const char* name : {"main:35", "steps.c:35", "ma?n:35", "main_:35"}) {
    const auto outcome = simulate("./steps", std::string("--loop '") + name + "'");
    ASSERT_EQ(outcome.status, 0) << name << outcome.output;
    EXPECT_EQ(ask("profile.terrace", "select name from main_loop"), std::vector<std::string>{"main:35"}) << name;
    fs::remove(root / "profile.terrace");
  }
}

// Before it runs, unless it may still load what is called so.
TEST_F(Process, RefusesALoopThatNothingIsCalled) {
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

// system(3) begins other programs, whose loops --loop does not name.
TEST_F(Process, RefusesAnUnknownLoopOfAProgramThatBeginsOthers) {
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

// Its lines have moved on by one since the plan was made.
TEST_F(Process, SaysThatAPlansLoopDidNotBegin) {
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

TEST_F(Process, SaysThatItHasNoHooks) {
  const auto said = summary("true", "");
  EXPECT_EQ(said.status, 0);
  EXPECT_TRUE(
      said.output.starts_with("terrace: no access was seen: build it with terrace-cc, terrace-c++ or terrace-fc; "
                              "profile in profile.terrace\n"))
      << said.output;
  fs::remove(root / "profile.terrace");
  const auto unmarked = summary("./steps", "--phases markers");
  EXPECT_TRUE(unmarked.output.starts_with("terrace: no main loop was seen (mark it, or try --phases auto); "))
      << unmarked.output;
  fs::remove(root / "profile.terrace");
  const auto named = summary("./steps", "--phases nowhere");
  EXPECT_NE(named.output.find("terrace: no main loop was seen; "), std::string::npos) << named.output;
}

// What it says of a loop that is too small is what `terrace show` says.
TEST_F(Process, SaysWhichLoopIsTooSmall) {
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

// The name that is given is the name that is written, and what was there is of no earlier run any more.
TEST_F(Process, ReplacesTheProfileThatWasAskedFor) {
  ASSERT_EQ(simulate("./words a").output, "9700\n");
  const auto before = ask("profile.terrace", "select arguments from run");
  EXPECT_EQ(simulate("./words b").output, "9800\n");
  EXPECT_NE(ask("profile.terrace", "select arguments from run"), before);
  const auto json = summary("./words a", "--json").output;
  EXPECT_NE(json.find(R"("file":"profile.terrace")"), std::string::npos) << json;
  EXPECT_EQ(std::count(json.begin(), json.end(), '\n'), 1) << json;
}

// Its blocks come and go with each turn: they are the same memory all the same.
TEST_F(Process, FindsTheMainLoopInAThreadThatTheMainOneWaitsFor) {
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

// On real memory nobody listens to accesses before there is a loop: work is the processor's time.
TEST_F(Process, FindsTheMainLoopOnRealMemory) {
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

// The handler runs while Terrace moves the block: nobody can follow what it does, and the profile says how much.
TEST_F(Process, CountsWhatItCannotFollow) {
  const auto outcome = simulate("./fault");
  ASSERT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "1 faults, 499500\n");
  const auto unseen = ask("profile.terrace", "select unseen from counters");
  ASSERT_EQ(unseen.size(), 1U);
  // A thousand stores, and the few accesses that the handler needs to begin.
  EXPECT_GE(std::stol(unseen.front()), 1000);
  EXPECT_LE(std::stol(unseen.front()), 1010);
  EXPECT_EQ(ask("profile.terrace", "select dropped from counters"), std::vector<std::string>{"0"});
}

// The program's shell kills the launcher, and goes on: what it wrote down is there to be merged.
TEST_F(Process, MergesWhatAKilledLauncherLeaves) {
  const auto folder = root / "temporary";
  fs::create_directory(folder);
  const auto launched = run_program(
      "cd '" + root.string() + "' && TMPDIR='" + folder.string() +
      "' " TERRACE_LAUNCHER
      " simulate -q --machine unimem-lat4 -o profile.terrace --config label=one --config label=two -- sh -c"
      " 'kill -9 $PPID; exec ./words a b c' 2>&1");
  EXPECT_EQ(launched.status, 128 + 9);
  EXPECT_NE(launched.output.find("29400\n"), std::string::npos) << launched.output;
  const auto left = fs::directory_iterator(folder)->path();
  const auto merge = [](const std::string& words) {
    return run_program("cd '" + root.string() + "' && " TERRACE_LAUNCHER " merge " + words + " 2>&1");
  };
  const auto merged = merge("'" + left.string() + "' -o late.terrace");
  EXPECT_EQ(merged.status, 0) << merged.output;
  EXPECT_NE(merged.output.find("profile in late.one.terrace"), std::string::npos) << merged.output;
  for (const char* configuration : {"one", "two"})
    EXPECT_EQ(ask("late." + std::string(configuration) + ".terrace",
                  "select count(*) from run where whole and how = 'exit'"),
              std::vector<std::string>{"1"});

  const auto single = merge("-q '" + left.string() + "'/one.*.journal -o single.terrace");
  EXPECT_EQ(single.status, 0) << single.output;
  EXPECT_TRUE(fs::exists(root / "single.one.terrace"));

  for (const auto& [words, status] : {std::pair{"nowhere -o x.terrace", 2}, {". -o x.terrace", 1}, {".", 2}}) {
    const auto wrong = merge(words);
    EXPECT_EQ(wrong.status, status) << words;
    EXPECT_TRUE(wrong.output.starts_with("terrace: ")) << wrong.output;
    EXPECT_EQ(std::ranges::count(wrong.output, '\n'), 1) << wrong.output;
  }
  fs::remove_all(folder);
}

// Where the profile cannot be written the journals are kept, and the message says how to go on.
TEST_F(Process, KeepsItsJournalsWhenTheyCannotBeMerged) {
  const auto folder = root / "temporary";
  fs::create_directory(folder);
  const auto run = run_program("cd '" + root.string() + "' && mkdir gone && TMPDIR='" + folder.string() +
                               "' " TERRACE_LAUNCHER
                               " simulate -q -m unimem-lat4 -o gone/x -- sh -c 'rmdir gone; ./words a' 2>&1");
  EXPECT_EQ(run.status, 1);
  const auto left = fs::directory_iterator(folder)->path().string();
  EXPECT_NE(run.output.find("terrace merge " + left + " -o FILE"), std::string::npos) << run.output;
  EXPECT_EQ(
      run_program(TERRACE_LAUNCHER " merge -q " + left + " -o '" + (root / "late.terrace").string() + "'").status,
      0);
  // The shell, rmdir and the program.
  EXPECT_EQ(ask("late.terrace", "select count(*) from run where whole"), std::vector<std::string>{"3"});
  fs::remove_all(folder);
}

// Whoever reads the clock brings its accesses first, while others bring theirs.
TEST_F(Process, ReadsTheClockWhileOtherThreadsCompute) {
  for (int run = 0; run < 5; ++run) {
    const auto outcome = simulate("./readers");
    ASSERT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.output, "13707200\n");
    fs::remove(root / "profile.terrace");
  }
}

TEST_F(Process, ForksWhileItsThreadsAreBusy) {
  const auto simulated = simulate("./crowd");
  EXPECT_EQ(simulated.status, 0);
  EXPECT_EQ(simulated.output, "200 children\n");
  const auto managed = run_program("cd '" + root.string() + "' && XDG_CACHE_HOME='" + root.string() +
                                   "' timeout 600 " TERRACE_LAUNCHER " run -q -o run.terrace -- ./crowd 2>&1");
  EXPECT_EQ(managed.status, 0);
  EXPECT_EQ(managed.output, "200 children\n");
}

}  // namespace
}  // namespace terrace::test
