// Tests `terrace run --intent` and the API for memory by intent in whole programs: that they work as without
// Terrace. tests/guest checks the node of each page on machines with several nodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "program_fixture.hpp"

namespace terrace::test {
namespace {

class Intent : public ProgramTest {
 protected:
  Intent() : ProgramTest("intent") {}
  [[nodiscard]] Outcome with(const std::string& options, const std::string& words) const {
    const bool profile = options.find("--intent") == std::string::npos;
    std::filesystem::remove(root_ + "/profile.terrace");
    return run(TERRACE_LAUNCHER " run " + std::string(profile ? "-q -o profile.terrace " : "") + options + " -- " +
               words);
  }
  // For this machine, with one kind of memory.
  [[nodiscard]] Outcome spending(const std::string& budget, const std::string& mode) const {
    std::filesystem::remove(root_ + "/profile.terrace");
    return run(TERRACE_LAUNCHER " run -o profile.terrace --budget ddr=" + budget +
               " -- " TERRACE_INTENT_RANGES " " + mode);
  }
  static bool has(const Outcome& done, const std::string& text) {
    return done.output.find(text) != std::string::npos;
  }
  static auto count(const Outcome& done, const std::string& text) {
    long found = 0;
    for (auto at = done.output.find(text); at != std::string::npos; at = done.output.find(text, at + 1)) ++found;
    return found;
  }
  static auto lines_of_terrace(const Outcome& done) { return count(done, "terrace: "); }
};

constexpr const char* k_program = TERRACE_BY_INTENT " ";

TEST_F(Intent, LargeData_WithRunIntent_IsPlaced) {
  for (const char* options : {"--intent bandwidth", "--intent bandwidth --eager"})
    for (const char* mode : {"malloc 64", "calloc 64", "grow 64"}) {
      const auto done = with(options, std::string(k_program) + mode);
      EXPECT_EQ(done.status, 0) << done.output;
      EXPECT_TRUE(has(done, "node 0: 16384\n")) << done.output;
      EXPECT_FALSE(has(done, "where: unknown")) << done.output;
      EXPECT_TRUE(has(done, "MiB of data by bandwidth: ")) << done.output;
      EXPECT_EQ(lines_of_terrace(done), 1) << done.output;
    }
}

TEST_F(Intent, Program_WithThreadsForksAndClosedFiles_Works) {
  for (const char* mode : {"threads 16", "fork 16", "files 16"}) {
    const auto done = with("--intent latency", std::string(k_program) + mode);
    EXPECT_EQ(done.status, 0) << done.output;
    EXPECT_TRUE(has(done, "node 0: 4096\n")) << done.output;
    EXPECT_EQ(has(done, "child: 0"), std::string(mode) == "fork 16") << done.output;
    EXPECT_EQ(lines_of_terrace(done), 1) << done.output;
  }
}

// At any moment while a chunk is filled.
TEST_F(Intent, Program_ForkingManyTimes_Works) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(with("--intent latency", std::string(k_program) + "fork 16").status, 0);
}

TEST_F(Intent, Processes_OfAJob_AreSummedUp) {
  const auto done =
      with("--intent capacity", "sh -c '" TERRACE_BY_INTENT " malloc 8; " TERRACE_BY_INTENT " malloc 8'");
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_TRUE(has(done, "terrace: 16MiB of data by capacity: 16MiB in ")) << done.output;
  EXPECT_TRUE(has(done, ", in 2 processes")) << done.output;
}

TEST_F(Intent, Calls_ByIntent_PlaceTheirMemory) {
  const auto alloc = with("", std::string(k_program) + "alloc 32 bandwidth");
  EXPECT_TRUE(has(alloc, "alloc: memory; \nnode 0: 8192\nwhere: ")) << alloc.output;
  EXPECT_FALSE(has(alloc, "unknown")) << alloc.output;
  const auto apply = with("", std::string(k_program) + "apply 32 latency");
  EXPECT_TRUE(has(apply, "apply: 0; ")) << apply.output;
  EXPECT_TRUE(has(apply, "nothing: 1\n")) << apply.output;
  EXPECT_TRUE(has(apply, "hole: 1; terrace_apply: a part of the range is not mapped")) << apply.output;
  EXPECT_FALSE(has(apply, "kernel")) << apply.output;
  EXPECT_FALSE(has(apply, "the system did not let")) << apply.output;
  EXPECT_EQ(apply.status, 0) << apply.output;
  const auto thread = with("", std::string(k_program) + "thread 32 capacity");
  EXPECT_TRUE(has(thread, "intent: 0; ")) << thread.output;
  EXPECT_FALSE(has(thread, "unknown")) << thread.output;
  EXPECT_TRUE(has(thread, "none: 0\n")) << thread.output;
  EXPECT_EQ(with("", std::string(k_program) + "again 32 bandwidth").status, 0);
}

// All of them by the thread's intent; by the run's intent those after the first 16 MiB.
TEST_F(Intent, SmallBlocks_ByIntent_ArePlaced) {
  const auto thread = with("", std::string(k_program) + "small 40 latency");
  EXPECT_EQ(thread.status, 0) << thread.output;
  EXPECT_TRUE(has(thread, "unknown: 0\n")) << thread.output;
  const auto whole = with("--intent bandwidth", std::string(k_program) + "small 40");
  EXPECT_EQ(whole.status, 0) << whole.output;
  long unknown = -1;
  std::sscanf(whole.output.c_str() + whole.output.find("unknown: "), "unknown: %ld", &unknown);
  constexpr double k_mean = 16 + 1984 / 2.0;  // bytes of a block
  EXPECT_NEAR(static_cast<double>(unknown), (16 << 20) / k_mean, 0.05 * (16 << 20) / k_mean) << whole.output;
  EXPECT_TRUE(has(whole, "MiB of data by bandwidth: ")) << whole.output;
  EXPECT_FALSE(has(run(TERRACE_BY_INTENT " small 40"), "unknown: 0\n"));
}

TEST_F(Intent, Calls_WithoutTerrace_GivePlainMemory) {
  const auto alloc = run(TERRACE_BY_INTENT " alloc 8 whatever");
  EXPECT_TRUE(has(alloc, "alloc: memory; \n")) << alloc.output;
  EXPECT_EQ(alloc.status, 0);
  const auto apply = run(TERRACE_BY_INTENT " apply 8 bandwidth");
  EXPECT_TRUE(has(apply, "apply: 3; terrace_apply: the program was not started by terrace")) << apply.output;
  EXPECT_TRUE(has(run(TERRACE_BY_INTENT " thread 8 bandwidth"), "intent: 3; "));
}

// Even after written blocks have been freed.
TEST_F(Intent, AllocatedMemory_WithAndWithoutTerrace_IsZeroed) {
  const std::string words = TERRACE_INTENT_RANGES " zeros";
  const std::string simulate = TERRACE_LAUNCHER " simulate -q -o simulated.terrace -- ";
  for (const auto& done : {run(words), with("", words), run(simulate + words)}) {
    EXPECT_EQ(done.status, 0) << done.output;
    EXPECT_TRUE(has(done, "zeros\n")) << done.output;
  }
}

// Budgets for two mappings of 16 MiB: unmapped memory is not charged, and the closing line states the peak.
TEST_F(Intent, Range_Unmapped_IsNotCharged) {
  for (const char* mode : {"unmap", "over", "raw"}) {
    const auto done = spending("36MiB", mode);
    EXPECT_EQ(done.status, 0) << done.output;
    EXPECT_EQ(count(done, "apply: 0\n"), 8) << mode << ": " << done.output;
    EXPECT_EQ(count(done, "applied: "), 8) << done.output;
    EXPECT_FALSE(has(done, "applied: unknown")) << done.output;
    // A mapping over it is an ordinary object.
    EXPECT_EQ(has(done, "last: unknown\n"), std::string(mode) != "over") << done.output;
    EXPECT_TRUE(has(done, "terrace: 16MiB of data by bandwidth: 16MiB in ")) << mode << ": " << done.output;
  }
}

TEST_F(Intent, Range_Moved_IsChargedOnce) {
  for (const char* mode : {"move", "shrink"}) {
    const bool moves = std::string(mode) == "move";
    const auto done = spending("36MiB", mode);
    EXPECT_EQ(done.status, 0) << done.output;
    EXPECT_EQ(has(done, "moved: 1\nold: unknown\nend: "), moves) << done.output;
    EXPECT_FALSE(has(done, "end: unknown")) << done.output;
    EXPECT_EQ(has(done, "rest: unknown\n"), !moves) << done.output;
    EXPECT_FALSE(has(done, "new: unknown")) << done.output;
    EXPECT_TRUE(has(done, "again: 0\nlast: unknown\n")) << done.output;
    EXPECT_TRUE(
        has(done, moves ? "terrace: 32MiB of data by bandwidth: " : "terrace: 20MiB of data by bandwidth: "))
        << done.output;
  }
}

TEST_F(Intent, Budget_Exhausted_GivesNoMemory) {
  const auto done = with("--intent bandwidth --budget ddr=72MiB", TERRACE_INTENT_RANGES " keep");
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_EQ(count(done, "apply: 0\n"), 4) << done.output;
  EXPECT_EQ(count(done, "apply: 2\n"), 4) << done.output;
  EXPECT_TRUE(has(done, "terrace: 128MiB of data by bandwidth: ")) << done.output;
  EXPECT_TRUE(has(done, "MiB left to the kernel\n")) << done.output;
  EXPECT_TRUE(has(done, "terrace: the memories were too small for all data by intent\n")) << done.output;
}

TEST_F(Intent, Intent_UnknownName_IsRefused) {
  const auto alloc = with("", std::string(k_program) + "alloc 8 bandwdth");
  EXPECT_TRUE(has(alloc, "alloc: none; terrace_alloc: machine ")) << alloc.output;
  EXPECT_TRUE(has(alloc, "did you mean 'bandwidth'?")) << alloc.output;
  EXPECT_TRUE(has(with("", std::string(k_program) + "alloc 8"), "alloc: none; terrace_alloc: the intent is null"));
  EXPECT_TRUE(has(with("", std::string(k_program) + "apply 8 fast"), "apply: 1; terrace_apply: machine "));
  EXPECT_TRUE(has(with("", std::string(k_program) + "apply 8"), "apply: 1; terrace_apply: the address or the"));
  EXPECT_TRUE(has(with("", std::string(k_program) + "thread 8 fast"), "intent: 1; terrace_intent: machine "));
  const auto refused = [&](const std::string& options, const std::string& why) {
    const auto done = run(TERRACE_LAUNCHER " run " + options + " -- true");
    EXPECT_EQ(done.status, 2) << options;
    EXPECT_TRUE(has(done, why)) << done.output;
    EXPECT_EQ(std::count(done.output.begin(), done.output.end(), '\n'), 1) << done.output;
  };
  refused("--intent bandwdth", "did you mean 'bandwidth'?");
  refused("--intent bandwidth --planner auto", "--planner cannot be used with --intent: --intent alone decides");
  refused("--intent bandwidth --memory 1GiB", "--memory cannot be used with --intent: ");
  refused("--intent bandwidth --watermark 1.5", "--watermark");
  refused("--intent bandwidth --mark 1.5", "--watermark");  // the earlier spelling
}

#ifdef TERRACE_BY_INTENT_FORTRAN
TEST_F(Intent, Fortran_SameCalls_PlaceMemory) {
  const auto done = with("", TERRACE_BY_INTENT_FORTRAN);
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_EQ(done.output,
            "apply 0\nknown T  2097152.\nzeros  0.0\nknown T\nunknown F\nintent 0\nknown T  6291456.\n"
            "intents 1 0\n");
}
#endif

TEST_F(Intent, Ordering_DefinedByTheUser_IsUsed) {
  std::ofstream(root_ + "/own.toml") << R"(schema = 1
name = "own"
[[domain]]
name = "node"
initiator = "cores"
[[initiator]]
name = "cores"
domain = "node"
cores = 1
frequency = "2GHz"
instruction_time = "0.1ns"
mlp = 10.0
prefetch_mlp = 15.0
miss_registers = 10
[[initiator.cache]]
name = "l2"
size = "1MiB"
ways = 8
latency = "4ns"
[[place]]
name = "first"
kind = "hbm"
capacity = "16MiB"
domain = "node"
numa_node = 0
[[place]]
name = "second"
kind = "ddr"
capacity = "64GiB"
domain = "node"
numa_node = 0
[[path]]
initiator = "cores"
place = "first"
read = "16GB/s"
write = "16GB/s"
latency = "100ns"
[[path]]
initiator = "cores"
place = "second"
read = "2GB/s"
write = "2GB/s"
latency = "400ns"
[[ordering]]
intent = "mine"
places = ["first", "second"]
)";
  // Two places on one node: the first one is limited by its capacity.
  for (const char* when : {"", " --eager"}) {
    const auto done =
        with(std::string("--machine own.toml --intent mine") + when, std::string(k_program) + "malloc 64");
    EXPECT_EQ(done.status, 0) << done.output;
    EXPECT_TRUE(has(done, "terrace: 64MiB of data by mine: 16MiB in first, 48MiB in second\n")) << done.output;
  }
}

TEST_F(Intent, Mbind_Forbidden_LeavesPlacementToTheKernel) {
  for (const char* options : {"--intent bandwidth", "--intent bandwidth --eager"}) {
    const auto done = with(options, TERRACE_WITHOUT_CALL " mbind " + std::string(k_program) + "malloc 32");
    EXPECT_EQ(done.status, 0) << done.output;
    EXPECT_TRUE(has(done, "32MiB left to the kernel\n")) << done.output;
    EXPECT_TRUE(
        has(done, "terrace: the system did not let all data by intent be placed: Operation not permitted\n"))
        << done.output;
    EXPECT_EQ(lines_of_terrace(done), 2) << done.output;
  }
  const auto alloc = with("", TERRACE_WITHOUT_CALL " mbind " + std::string(k_program) + "alloc 8 bandwidth");
  EXPECT_EQ(alloc.status, 0) << alloc.output;
  EXPECT_TRUE(has(alloc, "alloc: memory; terrace_alloc: the system does not let all of it be placed"))
      << alloc.output;
}

TEST_F(Intent, Userfaultfd_Forbidden_UsesAPreferredPlace) {
  const auto touch =
      with("--intent bandwidth", TERRACE_WITHOUT_CALL " userfaultfd " + std::string(k_program) + "malloc 32");
  EXPECT_EQ(touch.status, 0) << touch.output;
  EXPECT_TRUE(has(touch, "node 0: 8192\n")) << touch.output;
  EXPECT_TRUE(has(touch, "because this process may not wait for page faults")) << touch.output;
  EXPECT_EQ(lines_of_terrace(touch), 1) << touch.output;
  const auto eager = with("--intent bandwidth --eager",
                          TERRACE_WITHOUT_CALL " userfaultfd " + std::string(k_program) + "malloc 32");
  EXPECT_TRUE(has(eager, "terrace: 32MiB of data by bandwidth: 32MiB in ")) << eager.output;
  EXPECT_EQ(lines_of_terrace(eager), 1) << eager.output;
}

}  // namespace
}  // namespace terrace::test
