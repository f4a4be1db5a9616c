// Programs that allocate by intent through one of the front doors for C++ and Fortran, with and without Terrace.
#include <gtest/gtest.h>

#include <string>

#include "program_fixture.hpp"

namespace terrace::test {
namespace {

class FrontDoors : public ProgramTest {
 protected:
  FrontDoors() : ProgramTest("doors") {}
};

#define TERRACE_RUN TERRACE_LAUNCHER " run -q -o profile.terrace -- "

TEST_F(FrontDoors, ContainersByIntentAreWhereTerraceKnowsThem) {
  const auto under = run(TERRACE_RUN TERRACE_CONTAINERS);
  EXPECT_EQ(under.output.substr(0, 17), "active, all right") << under.output;
  EXPECT_EQ(under.status, 0);
}

TEST_F(FrontDoors, ContainersByIntentArePlainWithoutTerrace) {
  const auto alone = run(TERRACE_CONTAINERS);
  EXPECT_EQ(alone.output, "alone, all right\n");
  EXPECT_EQ(alone.status, 0);
}

}  // namespace
}  // namespace terrace::test
