// Plug-ins that are loaded for themselves alone, with OpenMP or a function of libm's name behind them: each of
// their calls reaches the library that it reaches without Terrace. The truth is the run without Terrace.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "program_fixture.hpp"
#include "run_program.hpp"

namespace terrace::test {
namespace {

const std::string k_sources = TERRACE_SOURCE_DIR "/tests/integration/programs/loaded/";

class Loaded : public ProgramTest {
 protected:
  Loaded() : ProgramTest("loaded") { build("cc " + k_sources + "host.c -o host"); }
  void build(const std::string& command) const {
    const auto made = run(command);
    ASSERT_EQ(made.status, 0) << command << "\n" << made.output;
  }
  void expect_as_without_terrace(const std::string& command, const std::string& output) const {
    ASSERT_EQ(run(command).output, output);
    for (const std::string mode :
         {"run -q --intent bandwidth", "run -q --profile -o p.terrace", "run -q --memory 64MiB --spill .",
          "record -q -o r.terrace", "simulate -q -o s.terrace"}) {
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
  build("cc -O1 -fopenmp -c -fPIC " + k_sources + "plugin.c -o plugin.o");
  for (const std::string copy : {"first", "second"}) {
    build("cp $(cc -print-file-name=libgomp.so.1) lib" + copy + ".so");
    build("patchelf --set-soname lib" + copy + ".so lib" + copy + ".so");
    build("cc -shared plugin.o ./lib" + copy + ".so -Wl,-rpath," + root_ + " -o " + copy + ".so");
  }
  expect_as_without_terrace("./host ./first.so ./second.so ./first.so", "10306\n10306\n10306\n");
}

TEST_F(Loaded, FunctionOfLibmsName_OfAPlugin_IsThePluginsOwn) {
  build("cc -fno-builtin -shared -fPIC " + k_sources + "own_names.c -o libown.so");
  build("cc -fno-builtin -shared -fPIC -DPLUGIN " + k_sources + "own_names.c ./libown.so -Wl,-rpath," + root_ +
        " -o plugin.so");
  expect_as_without_terrace("./host ./plugin.so", "7\n");
}

TEST_F(Loaded, Record_ProgramWithNothingToPlace_HasAProfile) {
  const auto done = run(TERRACE_LAUNCHER " record -o r.terrace -- /bin/true");
  EXPECT_EQ(done.status, 0);
  EXPECT_EQ(done.output.find("never loaded"), std::string::npos) << done.output;
  EXPECT_EQ(number("r.terrace", "select count(*) from object where name like '(stack)'"), 1);
}

}  // namespace
}  // namespace terrace::test
