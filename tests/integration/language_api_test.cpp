// Tests programs that allocate by intent through the C++ and Fortran APIs and hbwmalloc.h, with and without
// Terrace.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>
#include <utility>

#include "program_fixture.hpp"

namespace terrace::test {
namespace {

class LanguageApis : public ProgramTest {
 protected:
  LanguageApis() : ProgramTest("doors") {}
};

#define TERRACE_RUN TERRACE_LAUNCHER " run -q -o profile.terrace -- "

TEST_F(LanguageApis, Containers_ByIntent_ArePlaced) {
  const auto under = run(TERRACE_RUN TERRACE_CONTAINERS);
  EXPECT_EQ(under.output.substr(0, 17), "active, all right") << under.output;
  EXPECT_EQ(under.status, 0);
}

TEST_F(LanguageApis, Containers_ByIntentWithoutTerrace_UsePlainMemory) {
  const auto alone = run(TERRACE_CONTAINERS);
  EXPECT_EQ(alone.output, "alone, all right\n");
  EXPECT_EQ(alone.status, 0);
}

TEST_F(LanguageApis, AllocatorFunctions_SmallBlocksByIntent_AreAccepted) {
  for (const char* before : {"", TERRACE_RUN, TERRACE_LAUNCHER " run --intent bandwidth -- ",
                             TERRACE_LAUNCHER " simulate -q -o simulated.terrace -- "}) {
    const bool by_run = std::string(before).find("--intent") != std::string::npos;
    const auto done = run(std::string(before) + TERRACE_EVERY_SMALL + (by_run ? " intent" : ""));
    EXPECT_EQ(done.status, 0);
    EXPECT_EQ(done.output.substr(0, 10), "all right\n") << before << done.output;
  }
}

// Without fast memory, with node 0 declared as such, and with an invalid list; with the library alone, the
// injected one, and a program linked with memkind. Each two of program, policy and list are combined once;
// `make soak` combines all three.
TEST_F(LanguageApis, HighBandwidthMemory_ByMemkindNames_Works) {
  const std::string through_memkind = "env LD_LIBRARY_PATH=" TERRACE_MEMKIND_FOLDER " ";
  const std::array<std::string, 4> programs{TERRACE_HBW_CALLS, TERRACE_RUN TERRACE_HBW_CALLS,
                                            through_memkind + TERRACE_HBW_CALLS_MEMKIND,
                                            through_memkind + TERRACE_RUN TERRACE_HBW_CALLS_MEMKIND};
  const std::array<std::string, 4> policies{" bind", " bind_all", " preferred", " interleave"};
  const std::array<std::pair<std::string, std::string>, 4> lists{{{"", " -"},
                                                                  {"MEMKIND_HBW_NODES=0 ", " 0"},
                                                                  {"MEMKIND_HBW_NODES=0-99 ", " -"},
                                                                  {"MEMKIND_HBW_NODES= ", " -"}}};
  const bool all = std::getenv("TERRACE_ALL_COMBINATIONS") != nullptr;
  for (std::size_t p = 0; p < programs.size(); ++p)
    for (std::size_t q = 0; q < policies.size(); ++q)
      for (std::size_t n = 0; n < lists.size(); ++n) {
        if (!all && n != (p + q) % lists.size()) continue;
        const auto& [nodes, fast] = lists[n];
        std::filesystem::remove(root_ + "/profile.terrace");
        const auto done = run("env " + nodes + programs[p] + policies[q] + fast);
        EXPECT_EQ(done.status, 0) << nodes << programs[p] << policies[q] << fast << ": " << done.output;
        EXPECT_NE(done.output.find("all right\n"), std::string::npos) << done.output;
      }
}

TEST_F(LanguageApis, MemkindProgram_WithoutTerrace_FindsNoLibrary) {
  EXPECT_EQ(run(TERRACE_HBW_CALLS_MEMKIND " preferred -").status, 127);
}

TEST_F(LanguageApis, HighBandwidthMemory_Containers_ArePlaced) {
  for (const char* nodes : {"", "MEMKIND_HBW_NODES=0 "}) {
    const auto done = run("env " + std::string(nodes) + TERRACE_HBW_CONTAINERS);
    EXPECT_EQ(done.output, "all right\n");
  }
}

#ifdef TERRACE_ARRAYS_BY_INTENT
TEST_F(LanguageApis, FortranArrays_EachTypeAndRankByIntent_ArePlaced) {
  for (const char* before : {"", TERRACE_RUN}) {
    const auto done = run(std::string(before) + TERRACE_ARRAYS_BY_INTENT);
    EXPECT_EQ(done.status, 0);
    EXPECT_EQ(done.output.substr(0, 10), "all right\n") << before << done.output;
  }
}
#endif

}  // namespace
}  // namespace terrace::test
