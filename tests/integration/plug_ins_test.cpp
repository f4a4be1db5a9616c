// Tests plug-ins loaded with RTLD_LOCAL that use OpenMP or functions of libm's names: each call reaches the same
// library as without Terrace. The reference is the run without Terrace.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "program_fixture.hpp"
#include "run_program.hpp"

namespace terrace::test {
namespace {

const std::string k_sources = TERRACE_SOURCE_DIR "/tests/integration/programs/loaded/";

class Loaded : public ProgramTest {
 protected:
  Loaded() : ProgramTest("loaded") {
    build("cc " + k_sources + "host.c -o host");
    std::ofstream(root_ + "/plan.toml") << "schema = 2\n[[object]]\nname = \"*\"\nplace = \"dram\"\n";
    // This is the same machine, adapted to this one: all memory is this node.
    std::ifstream simulated(TERRACE_SOURCE_DIR "/machines/unimem-lat4.toml");
    std::ofstream here(root_ + "/here.toml");
    for (std::string line; std::getline(simulated, line);)
      here << line << '\n' << (line == "[[place]]" ? "numa_node = 0\n" : "");
  }
  void build(const std::string& command) const {
    const auto made = run(command);
    ASSERT_EQ(made.status, 0) << command << "\n" << made.output;
  }
  // Builds NAME.so from the plug-in's source for each name, each with its own copy of libgomp.
  void build_with_copies(const std::string& plugin, const std::vector<std::string>& names) const {
    build("cc -O2 -fopenmp -c -fPIC " + k_sources + plugin + ".c -o plugin.o");
    for (const auto& name : names) {
      build("cp $(cc -print-file-name=libgomp.so.1) lib" + name + ".so");
      build("patchelf --set-soname lib" + name + ".so lib" + name + ".so");
      build("cc -shared plugin.o ./lib" + name + ".so -Wl,-rpath," + root_ + " -o " + name + ".so");
    }
  }
  void expect_as_without_terrace(const std::string& command, const std::string& output) const {
    ASSERT_EQ(run(command).output, output);
    for (const std::string mode :
         {"run -q", "run -q --intent bandwidth", "run -q --profile -o p.terrace",
          "run -q --memory 64MiB --spill .", "run -q -m here.toml --plan plan.toml", "record -q -o r.terrace",
          "simulate -q -o s.terrace", "simulate -q -m unimem-lat4 --plan plan.toml -o o.terrace"}) {
      const auto done = run(TERRACE_LAUNCHER " " + mode + " -- " + command);
      EXPECT_EQ(done.status, 0) << mode << "\n" << done.output;
      EXPECT_EQ(done.output, output) << mode;
    }
  }
};

TEST_F(Loaded, OpenMp_LoadedForOnePlugin_RunsAsWithoutTerrace) {
  build("cc -O1 -fopenmp -shared -fPIC " + k_sources + "plugin.c -o plugin.so");
  expect_as_without_terrace("./host ./plugin.so", "10306\n");
}

TEST_F(Loaded, OpenMp_TwoCopies_EachCallsItsOwn) {
  build_with_copies("plugin", {"first", "second"});
  expect_as_without_terrace("./host ./first.so ./second.so ./first.so", "10306\n10306\n10306\n");
}

// The compiler turns a tail call into a jump: the return address is in the caller's caller, which may be the host,
// another copy of the library, or Terrace.
TEST_F(Loaded, OpenMp_FourCopiesReachedByJumps_EachIsReachedByItsOwnCaller) {
  build_with_copies("tails", {"first", "second", "third", "fourth"});
  std::string expected;
  for (int i = 0; i < 5; ++i) expected += "61286\n10306\n";
  expect_as_without_terrace("./host ./first.so ./second.so ./third.so ./fourth.so ./second.so", expected);
}

TEST_F(Loaded, FunctionOfLibmsName_OfAPlugin_IsThePluginsOwn) {
  build("cc -fno-builtin -shared -fPIC " + k_sources + "own_names.c -o libown.so");
  build("cc -fno-builtin -shared -fPIC -DPLUGIN " + k_sources + "own_names.c ./libown.so -Wl,-rpath," + root_ +
        " -o plugin.so");
  expect_as_without_terrace("./host ./plugin.so", "7\n");
}

TEST_F(Loaded, WeakReference_ToAFunctionThatNothingDefines_StaysNull) {
  const std::string source = k_sources + "weak.c";
  build("cc -O1 -fno-builtin -fPIE -pie -Wl,-z,relro,-z,now " + source + " -o absent");
  expect_as_without_terrace("./absent", "00000\n");
  build("cc -O1 -fno-builtin -fPIE -pie " + source + " -Wl,--no-as-needed -lgomp -lm -o there");
  expect_as_without_terrace("./there", "11101\n");
}

TEST_F(Loaded, WeakReference_OfAFileThatIsLoadedLater_StaysNull) {
  const std::string flags = "cc -O1 -fno-builtin -DPLUGIN -shared -fPIC " + k_sources + "weak.c ";
  build(flags + "-Wl,-z,relro,-z,now -o absent.so");
  build(flags + "-Wl,-z,lazy -o lazy.so");
  expect_as_without_terrace("./host ./absent.so ./lazy.so", "00000\n0\n00000\n0\n");
  build(flags + "-Wl,--no-as-needed -lgomp -lm -o there.so");
  expect_as_without_terrace("./host ./absent.so ./there.so", "00000\n0\n11101\n0\n");
}

TEST_F(Loaded, Dlsym_OfWhatNothingProvides_IsNull) {
  build("cc -O1 -fno-builtin " + k_sources + "asked.c -o asked -ldl");
  expect_as_without_terrace("./asked", "00001\n");
  build("cc -O1 -fno-builtin -DPLUGIN -shared -fPIC " + k_sources +
        "asked.c -Wl,--no-as-needed -lgomp -lm -o asked.so");
  expect_as_without_terrace("./asked ./asked.so", "00001\n11011\n");
  build("cc -O1 -fno-builtin " + k_sources + "asked.c -Wl,--no-as-needed -lgomp -lm -ldl -o there");
  expect_as_without_terrace("./there", "11011\n");
}

// The plug-in bypasses Terrace's functions and calls the C library's for Terrace's memory.
TEST_F(Loaded, DeepBinding_LargeDataOfTheHost_MayBeFreedByThePlugin) {
  for (const std::string compiler : {"cc", "clang"}) {
    if (run(compiler + " --version").status != 0) continue;
    build(compiler + " -O1 -fno-builtin -rdynamic " + k_sources + "deep_host.c -o deep_host -ldl");
    const auto plugin = compiler + " -O1 -fno-builtin -shared -fPIC " + k_sources + "deep_plugin.c ";
    const std::string once = "2 1 2 3\n1 12288\n";
    if (compiler == "clang") {
      build(plugin + "-Wl,-z,lazy -o lazy.so");
      expect_as_without_terrace("./deep_host ./lazy.so lazy", once + once);
    } else {
      build(plugin + "-Wl,-z,relro,-z,now -o now.so");
      expect_as_without_terrace("./deep_host ./now.so now", once + once);
      build(plugin + "-DOWN -Wl,-z,lazy -o own.so");
      expect_as_without_terrace("./deep_host ./own.so lazy", "own 1\n" + once + "own 1\n" + once);
    }
  }
}

// Only the program's threads are scheduled, so that their order is repeatable.
TEST_F(Loaded, MpiThread_SleepingInTheKernel_IsNotScheduled) {
  build("cc -O1 -shared -fPIC " + k_sources + "libmpi_stub.c -o libmpi_stub.so -lpthread");
  build("cc -O1 " + k_sources + "barriers.c ./libmpi_stub.so -Wl,-rpath," + root_ + " -o barriers -lpthread");
  expect_as_without_terrace("./barriers 0", "0\n");
  expect_as_without_terrace("./barriers 3", "150000\n");
  ASSERT_EQ(run(TERRACE_LAUNCHER " simulate -q -o s.terrace -- ./barriers 0").status, 0);
  EXPECT_EQ(number("s.terrace", "select count(*) from note where text like '%not repeatable%'"), 0);
}

// Libraries poll a clock to calibrate it (UCX), or to wait briefly.
TEST_F(Loaded, Thread_WithoutHooksThatWaitsForItsClock_Arrives) {
  build("cc -O1 " + k_sources + "spin.c -o spin -lpthread");
  expect_as_without_terrace("./spin 0", "4\n");
  expect_as_without_terrace("./spin 2", "12\n");
}

TEST_F(Loaded, Record_ProgramWithNothingToPlace_HasAProfile) {
  const auto done = run(TERRACE_LAUNCHER " record -o r.terrace -- /bin/true");
  EXPECT_EQ(done.status, 0);
  EXPECT_EQ(done.output.find("never loaded"), std::string::npos) << done.output;
  EXPECT_EQ(number("r.terrace", "select count(*) from object where name like '(stack)'"), 1);
}

}  // namespace
}  // namespace terrace::test
