// Tests stencil programs on 1, 2 and 4 MPI ranks: results equal those of one process to the last digit.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "run_program.hpp"

namespace terrace::test {
namespace {

using nlohmann::json;

struct Run {
  std::string name;
  std::string executor;
  std::string words;  // program and arguments
};

void PrintTo(const Run& run, std::ostream* out) { *out << run.name; }

json printed(const std::string& command) {
  const auto outcome = run_program(command);
  EXPECT_EQ(outcome.status, 0) << command << '\n' << outcome.output;
  return json::parse(outcome.output, nullptr, false);
}

class OnRanks : public testing::TestWithParam<Run> {};

TEST_P(OnRanks, Results_OnSeveralRanks_EqualOneProcess) {
  const auto options = "TERRACE_STENCIL=threads=1,executor=" + GetParam().executor + ' ';
  const auto alone = printed(options + TERRACE_STENCILS + ' ' + GetParam().words);
  ASSERT_TRUE(alone.contains("results"));
  for (const auto* ranks : {"1", "2", "4"}) {
    const auto spread =
        printed(options + TERRACE_MPIRUN + " -n " + ranks + ' ' + TERRACE_STENCILS_MPI + ' ' + GetParam().words);
    ASSERT_TRUE(spread.contains("results")) << ranks << " ranks";
    EXPECT_EQ(spread["results"], alone["results"]) << ranks << " ranks";
    if (ranks == std::string("1")) continue;
    EXPECT_GT(spread["exchanges"], 0);
    // Jacobi's sweeps are one long chain, which runs in pieces.
    if (alone["program"] != "jacobi") {
      EXPECT_LE(spread["exchanges"], spread["chains"]);
    }
    if (alone["executor"] == "streamed") {
      EXPECT_GT(spread["bytes_in"], 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, OnRanks,
                         testing::Values(Run{"jacobi", "serial", "jacobi cells=64 iterations=40"},
                                         Run{"jacobi_tiled", "tiled", "jacobi cells=240 iterations=70"},
                                         Run{"clover", "serial", "cloverleaf2d problem=tp1"},
                                         Run{"clover_tiled", "tiled,tile=32x8",
                                             "cloverleaf2d problem=tp1 cells=60x48 steps=14"},
                                         Run{"clover_streamed", "streamed,memory=4MiB,folder=/tmp,tile=0x4",
                                             "cloverleaf2d problem=tp1 cells=200x480 steps=2"}),
                         [](const auto& of) { return of.param.name; });

Outcome called(const std::string& words) {
  return run_program(std::string(TERRACE_MPIRUN) + ' ' + words + " 2>&1");
}

std::size_t times(const std::string& word, const std::string& text) {
  std::size_t count = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST(Mpi, Run_WrongArguments_IsReportedOnce) {
  const auto outcome = called(std::string("-n 3 ") + TERRACE_STENCILS_MPI + " nothing");
  EXPECT_NE(outcome.status, 0);
  EXPECT_EQ(times("there is no stencil program 'nothing'", outcome.output), 1) << outcome.output;
}

TEST(Mpi, Rank_Failing_EndsTheOthers) {
  const auto program = std::string(TERRACE_STENCILS_MPI) + " jacobi";
  const auto outcome = called("-n 1 " + program + " : -n 1 env TERRACE_STENCIL=executor=nobody " + program);
  EXPECT_NE(outcome.status, 0);
  EXPECT_NE(outcome.output.find("'nobody'"), std::string::npos) << outcome.output;
}

}  // namespace
}  // namespace terrace::test
