// Tests events of a process other than accesses: sleeping, loading libraries, forking while threads compute.
#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "process_fixture.hpp"

namespace terrace::test {
namespace {

namespace fs = std::filesystem;

TEST_F(Process, Sleep_Simulated_TakesVirtualTime) {
  const auto outcome = simulate("./sleeper");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output,
            "sleep 0 1000 ms\nnanosleep 0 1000 ms\nclock_nanosleep 0 1000 ms\nuntil 0 1000 ms\nat once 0 0 ms\n"
            "usleep 0 500 ms\npoll 0 250 ms\nppoll 0 250 ms\nselect 0 250 ms\npselect 0 250 ms\nready 1 0 ms\n"
            "refused 1 0 ms\n");
}

// Four days of virtual sleep, which take no real time.
TEST_F(Process, Sleep_EveryConfiguration_ReturnsAtOnce) {
  const auto outcome =
      simulate("./sleeper 86400", "--config 'label=one planner=slow-only' --config 'label=two planner=fast-only'");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  for (const char* configuration : {"one", "two"}) {
    const auto slept = ask("profile." + std::string(configuration) + ".terrace", "select round(ended) from run");
    ASSERT_EQ(slept.size(), 1U);
    EXPECT_EQ(slept.front(), "345602.0") << configuration;
  }
}

TEST_F(Process, Summary_Uncalibrated_NamesTheMachinesCoreTime) {
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

// The kernel's position of arguments and variables depends on the environment's size; results must not.
TEST_F(Process, Run_AnyEnvironment_GivesTheSameDigits) {
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

// Their names are the dynamic symbols: the library had no symbol file.
TEST_F(Process, Library_LoadedLate_HasFunctionNames) {
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

TEST_F(Process, Program_WithoutHooks_IsReported) {
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

// The profile has the given name and replaces that of an earlier run.
TEST_F(Process, Profile_ExistingFile_IsReplaced) {
  ASSERT_EQ(simulate("./words a").output, "9700\n");
  const auto before = ask("profile.terrace", "select arguments from run");
  EXPECT_EQ(simulate("./words b").output, "9800\n");
  EXPECT_NE(ask("profile.terrace", "select arguments from run"), before);
  const auto json = summary("./words a", "--json").output;
  EXPECT_NE(json.find(R"("file":"profile.terrace")"), std::string::npos) << json;
  EXPECT_EQ(std::count(json.begin(), json.end(), '\n'), 1) << json;
}

// The handler runs while Terrace moves the block: its accesses cannot be traced, and the profile counts them.
TEST_F(Process, Accesses_Untraceable_AreCounted) {
  const auto outcome = simulate("./fault");
  ASSERT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "1 faults, 499500\n");
  const auto unseen = ask("profile.terrace", "select unseen from counters");
  ASSERT_EQ(unseen.size(), 1U);
  // A thousand stores, and a few accesses at the handler's entry.
  EXPECT_GE(std::stol(unseen.front()), 1000);
  EXPECT_LE(std::stol(unseen.front()), 1010);
  EXPECT_EQ(ask("profile.terrace", "select dropped from counters"), std::vector<std::string>{"0"});
}

// The program's shell kills the launcher and continues: its journals can be merged later.
TEST_F(Process, Journals_OfAKilledLauncher_AreMerged) {
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

// If the profile cannot be written, the journals are kept, and the message says how to continue.
TEST_F(Process, Journals_MergeFails_AreKept) {
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

// A thread that reads the clock first flushes its accesses, while others flush theirs.
TEST_F(Process, Clock_ReadWhileThreadsCompute_Advances) {
  for (int run = 0; run < 5; ++run) {
    const auto outcome = simulate("./readers");
    ASSERT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.output, "13707200\n");
    fs::remove(root / "profile.terrace");
  }
}

TEST_F(Process, Fork_WhileThreadsCompute_Works) {
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
