// Tests recording and replay of whole programs: a replay in a configuration equals the execution in it, in every
// row and to the last bit, whatever configuration was recorded; and recording changes nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "program_fixture.hpp"
#include "workload.hpp"

namespace terrace::test {
namespace {

namespace fs = std::filesystem;

class Replays : public ProgramTest {
 protected:
  Replays() : ProgramTest("replays") {
    // Paths affect only names; but the environment is on the stacks.
    for (const auto& workload : k_all_workloads)
      if (workload.is_hooked())
        fs::create_symlink(std::string(TERRACE_HOOKED) + "/" + workload.name, root_ + "/" + workload.name);
  }

  // Programs of tests/integration/programs, each in its own directory.
  void make(const std::string& name) {
    const std::string folder = root_ + "/" + name;
    fs::copy(TERRACE_SOURCE_DIR "/tests/integration/programs/" + name, folder, fs::copy_options::recursive);
    const auto made = run("env -u MAKEFLAGS -u MAKELEVEL make -s -C " + name +
                          " CC=" TERRACE_WRAPPERS "/terrace-cc CXX=" TERRACE_WRAPPERS "/terrace-c++");
    ASSERT_EQ(made.status, 0) << made.output;
  }
  void simulate(const std::string& output, const std::string& options, const std::string& program) {
    const auto done = run(TERRACE_LAUNCHER " simulate -q -o " + output + " " + options + " -- ./" + program);
    ASSERT_EQ(done.status, 0) << done.output;
  }
  Outcome replay(const std::string& output, const std::string& options) {
    return run(TERRACE_LAUNCHER " replay app.misses -q -o " + output + " " + options);
  }
  // Prints only the differences.
  static void expect_equal(const std::vector<std::string>& a, const std::vector<std::string>& b,
                           const std::string& what) {
    EXPECT_EQ(a.size(), b.size()) << what;
    const auto [left, right] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    EXPECT_TRUE(left == a.end() || right == b.end() || *left == *right) << what << "\n"
                                                                        << left->substr(0, 400) << "\n"
                                                                        << right->substr(0, 400);
  }
  static std::size_t count(const std::vector<std::string>& all, const std::string& table) {
    return static_cast<std::size_t>(
        std::ranges::count_if(all, [&](const std::string& row) { return row.starts_with(table + " "); }));
  }
};

struct Case {
  std::string name;
  std::string program;
  std::string options;  // caches and phases
};
void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }

std::vector<Case> cases() {
  std::vector<Case> all{
      {"functions", "c/heat 3", "--cache l3=120KiB --phases heat_cells,record_history,nowhere"},
      {"found", "c/heat 8", "--cache l3=120KiB --phases auto"},
  };
  for (const auto& workload : k_all_workloads)
    if (workload.is_hooked())
      all.push_back({workload.name, std::string(workload.name) + " " + workload.hooked, "--cache l3=120KiB"});
  return all;
}

class Programs : public Replays, public ::testing::WithParamInterface<Case> {};

// Recorded in one configuration; replayed in it and in others with different machine, budget, planner and cores.
TEST_P(Programs, Replay_OfARecording_EqualsExecution) {
  const auto& of = GetParam();
  const std::string& options = of.options;
  if (of.program.starts_with("c/")) make("c");
  const std::string first = "--machine unimem-bw2 --fast 128KiB ";
  simulate("recorded.terrace", first + options + " --misses app.misses", of.program);
  simulate("plain.terrace", first + options, of.program);
  const auto recorded = rows("recorded.terrace", k_of_the_verb);
  EXPECT_GT(recorded.size(), 20U);
  expect_equal(rows("recorded.terrace", k_of_both), rows("plain.terrace", k_of_both),
               "recording changed something");
  const std::string caches = "--cache l3=120KiB ";
  ASSERT_EQ(replay("replayed.terrace", first + caches).status, 0);
  expect_equal(recorded, rows("replayed.terrace", k_of_the_verb), "replayed where it was recorded");
  int number = 0;
  for (const std::string other :
       {"--machine unimem-lat4 --fast 256KiB ", "--machine unimem-bw4 --fast 100KiB --planner local --cores 4 ",
        "--machine unimem-pcram --fast 200KiB --planner first-touch ",
        "--machine unimem-lat2 --planner fast-only ",
        "--machine unimem-lat4 --planner slow-only --exact --sample 300 "}) {
    const auto name = std::to_string(++number);
    simulate("e" + name + ".terrace", other + options, of.program);
    const auto replayed = replay("r" + name + ".terrace", other + caches);
    ASSERT_EQ(replayed.status, 0) << replayed.output;
    expect_equal(rows("e" + name + ".terrace", k_of_both), rows("r" + name + ".terrace", k_of_both), other);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Programs, ::testing::ValuesIn(cases()),
                         [](const auto& of) { return of.param.name; });

constexpr const char* k_stencil = "stencil --side 40 --iterations 4";
constexpr const char* k_there = "--machine unimem-lat4 --cache l3=120KiB ";

TEST_F(Replays, Replay_WithAPlan_EqualsExecution) {
  std::ofstream(root_ + "/plan.toml") << R"(schema = 2
planner = "hand"
machine = "unimem-lat4"
loop = "main"
budget = ["dram=400KiB"]
phases = ["forth", "back"]
[[object]]
name = "Grid::Grid stencil.cpp:36"
size = "580KiB"
chunks = 37
parts = { dram = "0-5" }
[[segment]]
name = "forth"
moves = [{ object = "Grid::Grid stencil.cpp:36", chunks = "0-3", to = "nvm", before = "back" }]
[[segment]]
name = "back"
moves = [{ object = "Grid::Grid stencil.cpp:36", chunks = "0-3", to = "dram", before = "forth" }]
)";
  simulate("recorded.terrace", std::string(k_there) + "--planner slow-only --misses app.misses", k_stencil);
  const std::string options = std::string(k_there) + "--plan plan.toml";
  simulate("e.terrace", options, k_stencil);
  const auto replayed = replay("r.terrace", options);
  ASSERT_EQ(replayed.status, 0) << replayed.output;
  const auto executed = rows("e.terrace", k_of_both);
  expect_equal(executed, rows("r.terrace", k_of_both), "with a plan");
  EXPECT_GT(count(executed, "move"), 10U);
  EXPECT_EQ(count(executed, "plan"), 1U);
}

TEST_F(Replays, Replay_Profile_EqualsRecord) {
  const auto done = run(TERRACE_LAUNCHER " record -q --exact --misses app.misses -o e.terrace " +
                        std::string(k_there) + " -- ./" + k_stencil);
  ASSERT_EQ(done.status, 0) << done.output;
  ASSERT_EQ(replay("r.terrace", std::string(k_there) + "--exact --profile").status, 0);
  const auto executed = rows("e.terrace", k_of_the_verb);
  expect_equal(executed, rows("r.terrace", k_of_the_verb), "as record");
  EXPECT_GT(count(executed, "cell"), 100U);
}

// All iterations of CG are equal, so that repeated ones equal the real ones.
TEST_F(Replays, Replay_MoreIterations_RepeatsTheLast) {
  const std::string there = "-m unimem-bw2 --cache l3=60KiB ";
  const auto loop = [&](const std::string& what, const std::string& recording, const std::string& store,
                        const std::string& options) {
    const auto done =
        run(TERRACE_LAUNCHER " replay " + recording + " -q -o " + store + " --fast 64KiB " + there + options);
    EXPECT_EQ(done.status, 0) << done.output;
    return number(store, "SELECT " + what + " FROM loop");
  };
  for (const auto& [recording, iterations] : {std::pair{"few.misses", "4"}, {"all.misses", "12"}}) {
    const auto done = run(TERRACE_LAUNCHER " record -q " + there + "--misses " + recording + " -o " + recording +
                          ".terrace -- ./cg --class S --iterations " + iterations);
    ASSERT_EQ(done.status, 0) << done.output;
  }
  const auto all = loop("ended - begun", "all.misses", "all.terrace", "");
  EXPECT_NEAR(loop("ended - begun", "few.misses", "few.terrace", "--iterations 12"), all, 1e-3 * all);
  EXPECT_EQ(number("few.terrace", "SELECT iterations FROM loop"), 12);
  EXPECT_EQ(
      number("few.terrace", "SELECT count(*) FROM note WHERE text LIKE '%4 were recorded%until there were 12'"),
      1);
  EXPECT_EQ(loop("iterations", "few.misses", "same.terrace", "--iterations 3"), 4) << "no fewer than there are";
}

TEST_F(Replays, Replay_SeveralConfigurations_PricesThemTogether) {
  simulate("recorded.terrace", std::string(k_there) + "--planner slow-only --misses app.misses", k_stencil);
  const std::string options =
      std::string(k_there) + "--config 'label=a fast=256KiB' --config 'label=b machine=unimem-bw2 fast=128KiB'";
  simulate("e.terrace", options, k_stencil);
  ASSERT_EQ(replay("r.terrace", options).status, 0);
  for (const std::string label : {"a", "b"})
    expect_equal(rows("e." + label + ".terrace", k_of_both), rows("r." + label + ".terrace", k_of_both), label);
}

// Processes that fork and exec each have their part, in any order in the file. (Their shares of a common budget
// while they run concurrently depend on timing, in executions too.)
TEST_F(Replays, Replay_OfAJob_ContainsEveryProcess) {
  make("c");
  const auto done = run(TERRACE_LAUNCHER " simulate -q -o e.terrace --misses app.misses --planner slow-only " +
                        std::string(k_there) + " -- sh -c './c/heat 2; ./c/heat 3; exit 0'");
  ASSERT_EQ(done.status, 0) << done.output;
  const auto replayed = replay("r.terrace", std::string(k_there) + "--planner slow-only");
  ASSERT_EQ(replayed.status, 0);
  EXPECT_EQ(replayed.output, "");
  // Rows identify their run by its position, in the order of the journals' names.
  const auto of_runs = [&](const char* store) {
    auto all = rows(store, {"run.journal", "run.mode", "run.id", "object.run", "object_place.run", "counters.run",
                            "level.run", "note.run", "coverage.run", "coverage_code.run", "coverage_object.run",
                            "loop.run", "iteration.run", "plan.run", "move.run", "phase_instance.run"});
    std::ranges::sort(all);
    return all;
  };
  const auto executed = of_runs("e.terrace");
  EXPECT_EQ(count(executed, "run"), 3U);
  expect_equal(executed, of_runs("r.terrace"), "processes");
}

// Threads, signals, sleeps, longjmp and fork replay in their recorded order.
TEST_F(Replays, Replay_ThreadsSleepsAndForks_EqualsExecution) {
  make("torture");
  const auto done = run(TERRACE_LAUNCHER " simulate -q -o e.terrace --misses app.misses --planner slow-only " +
                        std::string(k_there) + " -- torture/torture");
  ASSERT_EQ(done.status, 42) << done.output;
  ASSERT_EQ(replay("r.terrace", std::string(k_there) + "--planner slow-only").status, 0);
  const auto of_main = [&](const char* store) {
    auto all = rows(store, {"run.journal", "run.mode", "run.id"});
    std::erase_if(all, [](const std::string& row) { return !row.starts_with("run "); });
    std::ranges::sort(all);
    return all;
  };
  expect_equal(of_main("e.terrace"), of_main("r.terrace"), "torture");
}

TEST_F(Replays, Replay_OtherCaches_IsRefused) {
  simulate("recorded.terrace", std::string(k_there) + "--misses app.misses", k_stencil);
  const auto refused = replay("r.terrace", "--machine unimem-lat4");
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(
      refused.output,
      "terrace: the misses were recorded with other caches than unimem-lat4 has (cache level 2: 120KiB in 20 "
      "ways, shared recorded, 20MiB in 20 ways, shared there); record on that machine (terrace simulate "
      "--machine), or give --cache\n");
  EXPECT_FALSE(fs::exists(root_ + "/r.terrace"));
}

// This is the same machine with a small TLB and other page walk costs; another TLB is another machine.
TEST_F(Replays, PageWalks_CountedOnce_ArePricedForAnyMachine) {
  const auto make_machine = [&](const std::string& name, const std::string& tlb) {
    std::ifstream in(TERRACE_SOURCE_DIR "/machines/unimem-lat4.toml");
    std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::string before = "\nmlp = ";
    text.insert(text.find(before) + 1, tlb);
    std::ofstream(root_ + "/" + name) << text;
    return "--machine ./" + name + " --planner slow-only ";
  };
  const auto slow = make_machine("slow.toml", "tlb = { entries = 16, ways = 4, walk = \"40ns\" }\n");
  const auto fast = make_machine("fast.toml", "tlb = { entries = 16, ways = 4, walk = \"5ns\" }\n");
  const auto other = make_machine("other.toml", "tlb = { entries = 32, ways = 4, walk = \"5ns\" }\n");
  const char* const program = "gups --size 512KiB --iterations 3";
  simulate("slow.terrace", slow + "--misses app.misses", program);
  simulate("fast.terrace", fast, program);
  ASSERT_EQ(replay("r.terrace", fast).status, 0);
  const auto executed = rows("fast.terrace", k_of_both);
  expect_equal(executed, rows("r.terrace", k_of_both), "another walk");
  const auto phases = [](std::vector<std::string> all) {
    std::erase_if(all, [](const std::string& row) { return !row.starts_with("phase_instance "); });
    return all;
  };
  EXPECT_NE(phases(executed), phases(rows("slow.terrace", k_of_both))) << "walks take time";
  const auto refused = replay("o.terrace", other);
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.output,
            "terrace: the misses were recorded with other caches than unimem-lat4 has (TLB: 16 entries in 4 ways "
            "for pages of 4KiB recorded, 32 entries in 4 ways for pages of 4KiB there); record on that machine "
            "(terrace simulate --machine), or give --cache\n");
}

TEST_F(Replays, Recording_ExistingFile_IsNotOverwritten) {
  std::ofstream(root_ + "/app.misses") << "an hour's work";
  const auto refused = run(TERRACE_LAUNCHER " simulate --misses app.misses -- ./" + std::string(k_stencil));
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.output,
            "terrace: --misses app.misses: this file exists, and is not overwritten; name another\n");
  const auto no_recording = replay("r.terrace", k_there);
  EXPECT_EQ(no_recording.status, 2);
  EXPECT_EQ(no_recording.output,
            "terrace: app.misses: not a recording; give a file that record or simulate wrote with --misses\n");
}

TEST_F(Replays, Recording_Truncated_ReplaysItsWholeFrames) {
  simulate("recorded.terrace", std::string(k_there) + "--planner slow-only --misses app.misses",
           "gups --size 2MiB --iterations 8");
  const auto whole = rows("recorded.terrace", k_of_the_verb);
  fs::resize_file(root_ + "/app.misses", fs::file_size(root_ + "/app.misses") / 4);
  const auto replayed = replay("r.terrace", std::string(k_there) + "--planner slow-only");
  EXPECT_EQ(replayed.status, 1);
  EXPECT_NE(replayed.output.find("/gups (process "), std::string::npos) << replayed.output;
  EXPECT_NE(replayed.output.find("whole frames, then at byte "), std::string::npos) << replayed.output;
  const auto part = rows("r.terrace", k_of_the_verb);
  // Completed phases are equal.
  const auto phases = [](std::vector<std::string> all) {
    std::erase_if(all, [](const std::string& row) { return !row.starts_with("phase_instance "); });
    return all;
  };
  const auto all = phases(whole), some = phases(part);
  EXPECT_GT(some.size(), 0U);
  EXPECT_LT(some.size(), all.size());
  EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin()));
}

TEST_F(Replays, Recording_TrailingData_IsReported) {
  simulate("recorded.terrace", std::string(k_there) + "--planner slow-only --misses app.misses",
           "gups --size 2MiB --iterations 2");
  EXPECT_EQ(replay("r.terrace", std::string(k_there) + "--planner slow-only").status, 0);
  std::ofstream(root_ + "/app.misses", std::ios::app) << std::string(3000, 'x');
  const auto replayed = replay("s.terrace", std::string(k_there) + "--planner slow-only");
  EXPECT_EQ(replayed.status, 1);
  EXPECT_TRUE(
      replayed.output.starts_with("terrace: app.misses: what follows the last frame was not replayed, at byte "))
      << replayed.output;
  EXPECT_EQ(std::ranges::count(replayed.output, '\n'), 1) << replayed.output;
  expect_equal(rows("r.terrace", k_of_the_verb), rows("s.terrace", k_of_the_verb), "with what follows");
}

TEST_F(Replays, Recording_OfAKilledProgram_ContainsItsPast) {
  std::ofstream(root_ + "/kill.c") << R"(
#include <signal.h>
#include <stdlib.h>
#include <terrace/terrace.h>
int main(void) {
  const long n = 1 << 20;
  double* a = malloc(n * sizeof *a);
  terrace_loop_begin("main");
  for (int k = 0;; ++k) {
    terrace_phase("touch");
    unsigned long at = 1;
    for (long i = 0; i < 200000; ++i) a[(at = at * 6364136223846793005u + 1442695040888963407u) >> 44] += 1;
    if (k == 12) raise(SIGKILL);
  }
}
)";
  const auto built = run(TERRACE_WRAPPERS "/terrace-cc -O1 -I'" TERRACE_SOURCE_DIR
                                          "/include' kill.c -o kill -Wl,--unresolved-symbols=ignore-all");
  ASSERT_EQ(built.status, 0) << built.output;
  const auto killed = run(TERRACE_LAUNCHER " simulate -q -o e.terrace --misses app.misses --planner slow-only " +
                          std::string(k_there) + " -- ./kill");
  EXPECT_EQ(killed.status, 137) << killed.output;
  const auto replayed = replay("r.terrace", std::string(k_there) + "--planner slow-only");
  EXPECT_EQ(replayed.status, 1);
  EXPECT_NE(replayed.output.find("whole frames; its end is missing"), std::string::npos) << replayed.output;
  EXPECT_GT(count(rows("r.terrace", k_of_the_verb), "phase_instance"), 3U);
}

}  // namespace
}  // namespace terrace::test
