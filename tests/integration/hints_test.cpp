// Tests hints for whole programs in virtual time: initial placement, uses that the profiled iteration lacked,
// hints by the program itself, and replays.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "program_fixture.hpp"

namespace terrace::test {
namespace {

constexpr const char* k_columns = "make_matrix matrix.cpp:145";

class Hints : public ProgramTest {
 protected:
  Hints() : ProgramTest("hints") {
    std::filesystem::create_symlink(std::string(TERRACE_HOOKED) + "/cg", root_ + "/cg");
    const auto built =
        run(TERRACE_WRAPPERS "/terrace-cc -O1 -g -I" TERRACE_SOURCE_DIR "/include -o missed " TERRACE_SOURCE_DIR
                             "/tests/integration/programs/missed.c");
    EXPECT_EQ(built.status, 0) << built.output;
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(root_ + "/" + name) << text; }
  void launch(const std::string& words) {
    const auto done = run(TERRACE_LAUNCHER " " + words);
    ASSERT_EQ(done.status, 0) << done.output;
  }
  // Returns the error line of a refused call.
  std::string refusal(const std::string& words) {
    const auto done = run(TERRACE_LAUNCHER " " + words);
    EXPECT_EQ(done.status, 2) << words;
    EXPECT_EQ(std::ranges::count(done.output, '\n'), 1) << done.output;
    return done.output;
  }
  double iteration(const std::string& store, int number_of) {
    return number(store, "SELECT sum(ended - begun) FROM phase_instance WHERE loop = 0 AND iteration = " +
                             std::to_string(number_of));
  }
  double notes(const std::string& store, const std::string& like) {
    return number(store, "SELECT count(*) FROM note WHERE text LIKE '" + like + "'");
  }
};

// CG's matrix has 78,148 elements in class S; their columns are 308 KiB.
TEST_F(Hints, Run_WithHints_IsFasterBeforeThePlan) {
  write("cg.toml", "[values]\nnnz = 78148\n[refs]\n\"" + std::string(k_columns) + "\" = \"26*nnz*niter\"\n");
  write("plan.toml", "[[object]]\nname = \"" + std::string(k_columns) + "\"\nplace = \"dram\"\n");
  launch(
      "simulate -q -m unimem-lat4 --cache l3=120KiB --collector exact --define niter=15 --fast 320KiB --config "
      "'label=without planner=unimem' --config 'label=hints planner=unimem hints=cg.toml' --config 'label=auto "
      "hints=cg.toml' "
      "--config 'label=plan plan=plan.toml' -o x.terrace -- ./cg --class S");
  EXPECT_EQ(number("x.hints.terrace",
                   "SELECT count(*) FROM move WHERE iteration = 0 AND asked < (SELECT begun FROM "
                   "loop)"),
            0)
      << "it was there when it was made";
  const auto with = iteration("x.hints.terrace", 0);
  const auto planned = iteration("x.plan.terrace", 0);
  EXPECT_NEAR(with, planned, 1e-9 * planned);
  EXPECT_NEAR(iteration("x.auto.terrace", 0), planned, 1e-9 * planned) << "what was counted moves no earlier";
  EXPECT_LT(with, 0.9 * iteration("x.without.terrace", 0));
  // Unimem's own planner, which migrates nothing before its plan, in the third iteration.
  const auto until_planned = [&](const char* store) { return iteration(store, 0) + iteration(store, 1); };
  EXPECT_LT(until_planned("x.hints.terrace"), 0.95 * until_planned("x.without.terrace"));
  EXPECT_EQ(notes("x.hints.terrace", "initial placement by reference counts: ''" + std::string(k_columns) +
                                         "'' 30477720, 308KiB in dram"),
            1);
  EXPECT_EQ(notes("x.without.terrace", "hints: no expression takes the value ''niter''"), 1);
}

TEST_F(Hints, Directive_ObjectUnusedInProfiledIteration_IsKept) {
  write("uses.toml", "[[phase]]\nname = \"middle\"\nuses = [\"u\"]\n");
  // For so little data no move pays whose cost exceeds the transfer of its bytes.
  launch(
      "simulate -q --collector exact -m unimem-bw4@ideal --cache l2=16KiB --cache l3=40KiB --fast 288KiB --config "
      "label=without --config "
      "'label=with hints=uses.toml' -o x.terrace -- ./missed 12");
  const auto middle = [&](const std::string& store) {
    return number(store, "SELECT ended - begun FROM phase_instance WHERE iteration = 10 AND name = 'middle'");
  };
  EXPECT_LT(middle("x.with.terrace"), 0.8 * middle("x.without.terrace")) << "u is in fast memory there";
  EXPECT_LT(iteration("x.with.terrace", 10), iteration("x.without.terrace", 10));
}

TEST_F(Hints, ProgramHints_Recorded_AreReplayed) {
  const std::string configuration = "-m unimem-bw4 --cache l2=16KiB --cache l3=40KiB --fast 288KiB ";
  write("other.toml", "[refs]\nw = \"4*bytes('v')\"\n[[phase]]\nname = \"middle\"\nspares = [\"u\"]\n");
  launch("simulate -q " + configuration + "--misses app.misses -o told.terrace -- ./missed 12 told");
  launch("simulate -q " + configuration +
         "--hints other.toml --define niter=100 -o other.terrace -- ./missed 12 told");
  EXPECT_EQ(notes("told.terrace",
                  "initial placement by reference counts: ''u'' 9830400, 256KiB in dram; ''v'' "
                  "9437184, 32KiB in dram"),
            1);
  EXPECT_EQ(notes("other.terrace",
                  "initial placement by reference counts: ''u'' 81920000, 256KiB in dram; ''v'' "
                  "78643200, 32KiB in dram; ''w'' 1048576, 256KiB in nvm"),
            1);
  launch("replay app.misses -q " + configuration + "-o again.terrace");
  EXPECT_EQ(rows("told.terrace", k_of_both), rows("again.terrace", k_of_both));
  launch("replay app.misses -q " + configuration + "--hints other.toml --define niter=100 -o again2.terrace");
  EXPECT_EQ(rows("other.terrace", k_of_both), rows("again2.terrace", k_of_both));
}

// Three kinds, two domains: the most referenced objects are in the fastest memory, others in the next one.
TEST_F(Hints, Machine_WithThreeKinds_UsesHints) {
  write("three.toml", "[refs]\nu = 10\nv = 50\nw = 2\n");
  launch(
      "simulate -q -m hbm-ddr-cxl-2domains --budget hbm=256KiB,ddr=256KiB --hints three.toml -o x.terrace -- "
      "./missed 6");
  EXPECT_EQ(notes("x.terrace",
                  "initial placement by reference counts: ''v'' 50, 256KiB in hbm0; ''u'' 10, 256KiB in "
                  "ddr0; ''w'' 2, 256KiB in cxl0"),
            1);
}

TEST_F(Hints, Hints_Malformed_AreRefusedInOneLine) {
  write("bad.toml", "[refs]\nu = \"2*nnz*\"\n");
  write("key.toml", "[value]\nn = 1\n");
  const std::string program = " -- ./missed";
  EXPECT_EQ(refusal("run --hints bad.toml" + program).find("terrace: bad.toml:2: refs.u: '2*nnz*', column 7: "),
            0U);
  EXPECT_EQ(refusal("simulate -m unimem-bw4 --hints key.toml" + program),
            "terrace: key.toml:1: value: unknown key; did you mean 'values'?\n");
  EXPECT_EQ(refusal("simulate -m unimem-bw4 --let n" + program),
            "terrace: --define n: there is no '='; write for example niter=75\n");
  EXPECT_EQ(refusal("simulate -m unimem-bw4 --config 'label=a hint=x'" + program)
                .find("terrace: --config: unknown key 'hint'"),
            0U);
}

// On a real machine with one kind of memory hints are harmless.
TEST_F(Hints, RealRun_OneKindOfMemory_RunsUnchanged) {
  write("uses.toml", "[refs]\nu = 1\n[[phase]]\nname = \"middle\"\nuses = [\"u\"]\n");
  const auto done = run(TERRACE_LAUNCHER " run -q --hints uses.toml -o x.terrace -- ./missed 4 told");
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_NE(done.output.find("missed: checksum"), std::string::npos) << done.output;
}

}  // namespace
}  // namespace terrace::test
