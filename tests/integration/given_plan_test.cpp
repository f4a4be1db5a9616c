// What is said of a plan that was given: before the run, where the machine lacks a place; at its end, what of the
// plan the run had no use for.
#include <gtest/gtest.h>

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
  }
  // What the launcher says of a run under the plan, but for what the program prints.
  Outcome under(const std::string& plan) {
    std::ofstream(root_ + "/plan.toml") << "schema = 2\n" << plan;
    std::filesystem::remove(root_ + "/x.terrace");
    return run("sh -c '" TERRACE_LAUNCHER
               " simulate -m unimem-lat4 --plan plan.toml -o x.terrace -- ./steps 2>&1 > /dev/null'");
  }
};

const std::string k_phases = "loop = \"steps\"\nphases = [\"forth\", \"back\", \"norm\"]\n";
const std::string k_all = "[[object]]\nname = \"*\"\nplace = \"dram\"\n";

TEST_F(GivenPlan, IsRefusedWhereTheMachineLacksAPlace) {
  const std::string there =
      " is neither a kind nor a place of machine 'unimem-lat4'; there are the kinds dram, nvm and the places dram, "
      "nvm\n";
  auto done = under("[[object]]\nname = \"made steps.c:20\"\nplace = \"drma\"\n");
  EXPECT_EQ(done.status, 2);
  EXPECT_EQ(done.output, "terrace: plan.toml: object 'made steps.c:20': place 'drma'" + there);
  done = under("[[object]]\nname = \"a\"\nchunks = 2\nparts = { drma = \"1\" }\n");
  EXPECT_EQ(done.status, 2);
  EXPECT_EQ(done.output, "terrace: plan.toml: object 'a': place 'drma'" + there);
  done = under(k_phases + "[[object]]\nname = \"a\"\n[[segment]]\nname = \"back\"\nmoves = [{ object = \"a\", to = "
                          "\"drma\" }]\n");
  EXPECT_EQ(done.status, 2);
  EXPECT_EQ(done.output, "terrace: plan.toml: object 'a': place 'drma'" + there);
}

}  // namespace
}  // namespace terrace::test
