// Tests the workloads as programs: their verification results, and the consistency of their figures.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "run_workload.hpp"
#include "workload.hpp"

namespace terrace::test {
namespace {

TEST(StreamWorkload, Rates_OfAKernel_AreBytesOverTime) {
  const Outcome outcome = run_workload("stream --size 4MiB --repetitions 5");
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_EQ(field(outcome.output, "Verification"), "SUCCESSFUL");
  for (const auto& [kernel, arrays] :
       {std::pair{"copy", 2}, std::pair{"scale", 2}, std::pair{"add", 3}, std::pair{"triad", 3}}) {
    std::istringstream line(outcome.output.substr(outcome.output.find(kernel)));
    std::string name;
    double rate = 0, average = 0, best = 0, worst = 0;
    line >> name >> rate >> average >> best >> worst;
    const double bytes = arrays * 4.0 * 1024 * 1024;
    EXPECT_NEAR(rate * best / bytes, 1.0, 1e-4) << name;  // times are printed in nanoseconds
    EXPECT_LE(best, average);
    EXPECT_LE(average, worst);
  }
}

TEST(StreamWorkload, Size_NoMultipleOfALine_IsAccepted) {
  EXPECT_EQ(run_workload("stream --size 8 --repetitions 1").status, 0);
  EXPECT_EQ(run_workload("stream --size 1001 --repetitions 250").status, 0);
  EXPECT_EQ(run_workload("stream --size 7 2>&1").status, 2);
  EXPECT_EQ(run_workload("stream --size 1XB 2>&1").status, 2);
  EXPECT_EQ(run_workload("stream --repetitions 251 2>&1").status, 2);
}

TEST(ChaseWorkload, Chains_AnyNumber_EndAtTheExpectedElement) {
  for (int chains = 1; chains <= 16; ++chains) {
    // 999 lines, not a multiple of most numbers of chains; more steps than lines, so that each chain wraps.
    const Outcome outcome =
        run_workload("chase --size 63936 --steps 5000 --chains " + std::to_string(chains) + " --seed 7");
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_EQ(field(outcome.output, "Verification"), "SUCCESSFUL");
    double per_step = 0, per_load = 0;
    ASSERT_EQ(std::sscanf(outcome.output.substr(outcome.output.find("Best")).c_str(),
                          "Best %lf ns a step %lf ns a load", &per_step, &per_load),
              2);
    EXPECT_NEAR(per_load * chains, per_step, 1e-4);
  }
  EXPECT_EQ(run_workload("chase --chains 17 2>&1").status, 2);
  EXPECT_EQ(run_workload("chase --chains 4 --size 255 2>&1").status, 2);
}

class EveryWorkload : public testing::TestWithParam<Workload> {};

std::string call_of(const Workload& workload) { return std::string(workload.name) + " " + workload.test; }

TEST_P(EveryWorkload, Workload_RunAlone_GivesTheRightResult) {
  const Outcome outcome = run_workload(call_of(GetParam()));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_TRUE(verified(GetParam(), outcome.output)) << outcome.output;
}

TEST_P(EveryWorkload, Workload_WrongArguments_IsRefused) {
  const std::string name = GetParam().name;
  EXPECT_EQ(run_workload(name + " --iterrations 1 2>&1").status, 2);
  EXPECT_EQ(run_workload(name + " --threads 0 2>&1").status, 2);
  const Outcome outcome = run_workload(name + " --threads 2 2>&1");
  EXPECT_EQ(outcome.status, 2);
  if (GetParam().has_threads()) {
    EXPECT_EQ(outcome.output, name + ": --threads: more than 1 needs a build with -fopenmp\n");
  }
  EXPECT_EQ(run_workload(name + " --help").status, 0);
}

INSTANTIATE_TEST_SUITE_P(Workloads, EveryWorkload, testing::ValuesIn(k_all_workloads),
                         [](const auto& of) { return std::string(of.param.name); });

TEST(Workloads, Size_Unsupported_IsRefused) {
  for (const char* call : {"gups --size 3MiB",
                           "gups --size 4",
                           "hashjoin --tuples 1",
                           "hashjoin --ratio 65",
                           "spmv --scale 29",
                           "spmv --scale 28 --per-row 16",
                           "stencil --side 2",
                           "btree --records 2147483649",
                           "hydro --side 15",
                           "graph --scale 29",
                           "graph --scale 1 --per-vertex 1 --seed 7",
                           "graph --scale 28 --per-vertex 16",
                           "mergejoin --tuples 1",
                           "mergejoin --ratio 65",
                           "tensor --scale 11",
                           "tensor --scale 12 --rank 32",
                           "tensor --scale 24 --rank 65",
                           "eddy --elements 2",
                           "eddy --order 16",
                           "eddy --elements 4 --order 7",
                           "eddy --per-unit 100"}) {
    EXPECT_EQ(run_workload(std::string(call) + " 2>&1").status, 2) << call;
  }
}

TEST(Workloads, Size_Smallest_IsAccepted) {
  for (const char* call : {"gups --size 8", "hashjoin --tuples 2 --ratio 1", "spmv --scale 1 --per-row 1",
                           "stencil --side 3", "btree --records 1", "btree --records 15", "btree --records 16",
                           "btree --records 241", "sort --keys 1", "sort --keys 8193", "hydro --side 16",
                           "graph --scale 1 --per-vertex 9", "graph --scale 7 --per-vertex 1 --iterations 1",
                           "mergejoin --tuples 2 --ratio 1", "mergejoin --tuples 8193 --ratio 1",
                           "tensor --scale 12 --rank 1", "tensor --scale 12 --rank 16 --iterations 1",
                           "eddy --elements 3 --order 12 --steps 1", "eddy --elements 16 --order 4 --steps 1"}) {
    EXPECT_EQ(run_workload(std::string(call)).status, 0) << call;
  }
}

/// eddy on elements that resolve the flow from order 5 on.
std::string eddy_output(int order, int per_unit, int steps) {
  const Outcome outcome = run_workload("eddy --elements 8 --order " + std::to_string(order) + " --per-unit " +
                                       std::to_string(per_unit) + " --steps " + std::to_string(steps));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  return outcome.output;
}

TEST(Eddy, Error_HigherOrder_FallsExponentially) {
  std::string coarser = eddy_output(5, 800, 8);
  // From N to N + 2 as (7 pi / 8)^2 / (4 (N + 2) (N + 3)), which is 1/29 and less.
  for (const int order : {7, 9, 11}) {
    const std::string finer = eddy_output(order, 800, 8);
    for (const char* label : {"Velocity error", "Pressure error", "Divergence"}) {
      EXPECT_LT(std::stod(field(finer, label)), std::stod(field(coarser, label)) / 15) << label << ' ' << order;
    }
    coarser = finer;
  }
}

TEST(Eddy, Error_SmallerStep_FallsWithItsThirdPower) {
  const double longer = std::stod(field(eddy_output(11, 180, 18), "Velocity error"));
  const double shorter = std::stod(field(eddy_output(11, 360, 36), "Velocity error"));
  EXPECT_NEAR(std::log2(longer / shorter), 3.0, 0.25);
}

// A thread sanitizer does not see the synchronisation of OpenMP threads.
#if defined(TERRACE_WORKLOADS_OPENMP) && !defined(TERRACE_SANITIZED)

class WorkloadWithThreads : public testing::TestWithParam<Workload> {};

TEST_P(WorkloadWithThreads, Workload_AnyNumberOfThreads_GivesTheSameResult) {
  const Workload& workload = GetParam();
  const auto serial = result_of(workload, run_workload(call_of(workload)).output);
  for (const int threads : {1, 2, 4}) {
    const Outcome outcome = run_threads(call_of(workload), threads);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_TRUE(verified(workload, outcome.output)) << outcome.output;
    // Where threads race, or sums are rounded in another order, the verification says how far off is too far.
    if (threads > 1 && workload.openmp != std::string("same")) continue;
    EXPECT_EQ(result_of(workload, outcome.output), serial) << threads;
  }
}

std::vector<Workload> with_threads() {
  std::vector<Workload> found;
  std::ranges::copy_if(k_all_workloads, std::back_inserter(found), &Workload::has_threads);
  return found;
}

INSTANTIATE_TEST_SUITE_P(Workloads, WorkloadWithThreads, testing::ValuesIn(with_threads()),
                         [](const auto& of) { return std::string(of.param.name); });

#endif

TEST(BuildScript, Build_AnyCompilerCommand_Works) {
  const auto folder = std::filesystem::temp_directory_path() / ("workloads-" + std::to_string(getpid()));
  const std::string script = TERRACE_SOURCE_DIR "/workloads/build.sh";
  const Outcome built =
      run_program("CXX='env c++' CXXFLAGS='-O1 -g' '" + script + "' '" + folder.string() + "' chase");
  EXPECT_EQ(built.status, 0);
  EXPECT_EQ(run_program("'" + (folder / "chase").string() + "' --size 64KiB --steps 10").status, 0);
  EXPECT_EQ(run_program("'" + script + "' '" + folder.string() + "' nonesuch 2>&1").status, 2);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace terrace::test
