// Compares the results of the NAS Parallel Benchmarks with the published values.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "run_workload.hpp"

namespace terrace::test {
namespace {

struct ReferenceValue {
  const char* program;
  char problem_class;
  const char* iterations;
  const char* size;
  const char* quantity;
  double value;
  double tolerance;
};

void PrintTo(const ReferenceValue& official, std::ostream* out) {
  *out << official.program << official.problem_class;
}

// The values published with NPB 3.x.
constexpr ReferenceValue k_small_classes[] = {
    {"cg", 'S', "15", "1400", "Zeta", 8.5971775078648, 1e-10},
    {"cg", 'W', "15", "7000", "Zeta", 10.362595087124, 1e-10},
    {"mg", 'S', "4", "32x32x32", "L2 norm", 0.5307707005734e-04, 1e-8},
    {"mg", 'W', "4", "128x128x128", "L2 norm", 0.6467329375339e-05, 1e-8},
    {"bt", 'S', "60", "12x12x12", "Residual 5", 1.9211784131744430e-01, 1e-8},
    {"sp", 'S', "100", "12x12x12", "Error 1", 2.7289258557377227e-05, 1e-8},
    {"lu", 'S', "50", "12x12x12", "Surface", 7.8418928865937083e+00, 1e-8},
    {"ft", 'S', "6", "64x64x64", "Checksum 6", 5.542683411902e+02, 1e-12},
    {"ft", 'W', "6", "128x128x32", "Checksum 6", 5.504159734538e+02, 1e-12},
};
[[maybe_unused]] constexpr ReferenceValue k_class_a[] = {
    {"cg", 'A', "15", "14000", "Zeta", 17.130235054029, 1e-10},
    {"mg", 'A', "4", "256x256x256", "L2 norm", 0.2433365309069e-05, 1e-8},
};

class Npb : public testing::TestWithParam<ReferenceValue> {};

TEST_P(Npb, Benchmark_Serial_GivesTheOfficialValue) {
  const ReferenceValue& official = GetParam();
  const Outcome outcome = run_workload(std::string(official.program) + " --class " + official.problem_class);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_EQ(field(outcome.output, "Verification"), "SUCCESSFUL");
  EXPECT_EQ(field(outcome.output, "Iterations"), official.iterations);
  EXPECT_EQ(field(outcome.output, "Size"), official.size);
  const double value = std::stod(field(outcome.output, official.quantity));
  EXPECT_LE(std::abs(value / official.value - 1.0), official.tolerance) << outcome.output;
}

std::string name_of(const testing::TestParamInfo<ReferenceValue>& info) {
  return std::string(info.param.program) + info.param.problem_class;
}

INSTANTIATE_TEST_SUITE_P(Small, Npb, testing::ValuesIn(k_small_classes), name_of);
#ifndef TERRACE_SANITIZED  // class A under a sanitizer takes minutes and shows nothing that class W does not
INSTANTIATE_TEST_SUITE_P(ClassA, Npb, testing::ValuesIn(k_class_a), name_of);
#endif

TEST(Npb, Benchmark_MoreIterations_VerifiesAtTheOfficialCount) {
  struct Case {
    const char* program;
    const char* official;
    const char* longer;
    const char* quantity;
  };
  for (const auto& [program, official, longer, quantity] :
       {Case{"cg", "15", "40", "Zeta"}, Case{"mg", "4", "40", "L2 norm"}, Case{"bt", "60", "61", "Residual 1"},
        Case{"bt", "60", "70", "Error 1"}, Case{"sp", "100", "101", "Residual 1"},
        Case{"sp", "100", "110", "Error 1"}, Case{"lu", "50", "60", "Surface"},
        Case{"ft", "15", "40", "Checksum 6"}}) {
    const std::string call = std::string(program) + " --class S --iterations ";
    const Outcome short_run = run_workload(call + official);
    const Outcome long_run = run_workload(call + longer);
    EXPECT_EQ(short_run.status, 0) << short_run.output;
    EXPECT_EQ(long_run.status, 0) << long_run.output;
    EXPECT_EQ(field(long_run.output, "Iterations"), longer);
    EXPECT_EQ(field(long_run.output, quantity), field(short_run.output, quantity));
  }
}

TEST(Npb, Benchmark_FewerIterations_SaysThatItCannotVerify) {
  for (const char* call : {"cg --class S --iterations 14", "mg --class S --iterations 3",
                           "sp --class S --iterations 99", "ft --class S --iterations 5"}) {
    const Outcome few = run_workload(call);
    EXPECT_EQ(few.status, 0) << few.output;
    EXPECT_NE(few.output.find("NOT PERFORMED\n"), std::string::npos) << few.output;
  }
}

TEST(Npb, Benchmark_WrongArguments_AreRefused) {
  EXPECT_EQ(run_workload("cg --class D 2>&1").status, 2);
  const Outcome wrong = run_workload("mg --klass S 2>&1");
  EXPECT_EQ(wrong.status, 2);
  EXPECT_EQ(wrong.output, "mg: no option '--klass'; --help lists them\n");
}

// A thread sanitizer does not see the synchronisation of OpenMP threads.
#if defined(TERRACE_WORKLOADS_OPENMP) && !defined(TERRACE_SANITIZED)

TEST_P(Npb, Benchmark_AnyNumberOfThreads_GivesTheOfficialValue) {
  const ReferenceValue& official = GetParam();
  for (const int threads : {1, 2, 4}) {
    const Outcome outcome =
        run_threads(std::string(official.program) + " --class " + official.problem_class, threads);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    const double value = std::stod(field(outcome.output, official.quantity));
    EXPECT_LE(std::abs(value / official.value - 1.0), official.tolerance) << outcome.output;
  }
}

// All norms precede the result block.
TEST(FlowSolvers, Solver_AnyNumberOfThreads_GivesTheSameNorms) {
  const auto norms_of = [](const std::string& output) { return output.substr(0, output.find("Benchmark")); };
  for (const char* call : {"bt --class S", "sp --class S", "lu --class S"}) {
    const Outcome serial = run_workload(call);
    for (const int threads : {3, 12}) {
      EXPECT_EQ(norms_of(run_threads(call, threads).output), norms_of(serial.output)) << call << ' ' << threads;
    }
  }
}

#endif

}  // namespace
}  // namespace terrace::test
