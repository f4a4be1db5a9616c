// The workloads, run as programs: their results against the published values, their figures against each other,
// their markers against the sequence that their documentation states.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "run_program.hpp"

namespace terrace::test {
namespace {

const std::string k_workloads = TERRACE_WORKLOADS_DIR;

Outcome run_workload(const std::string& arguments) { return run_program(k_workloads + "/" + arguments); }

/// What stands after `label` and an optional "=" in a result block.
std::string field(const std::string& output, const std::string& label) {
  const auto at = output.find(label);
  if (at == std::string::npos) return {};
  std::istringstream rest(output.substr(at + label.size()));
  std::string word;
  rest >> word;
  if (word == "=") rest >> word;
  return word;
}

struct Official {
  const char* program;
  char problem_class;
  const char* iterations;
  const char* size;
  const char* quantity;
  double value;
  double tolerance;
};

void PrintTo(const Official& official, std::ostream* out) { *out << official.program << official.problem_class; }

// The values published with NPB 3.x.
constexpr Official k_small_classes[] = {
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
[[maybe_unused]] constexpr Official k_class_a[] = {
    {"cg", 'A', "15", "14000", "Zeta", 17.130235054029, 1e-10},
    {"mg", 'A', "4", "256x256x256", "L2 norm", 0.2433365309069e-05, 1e-8},
};

class Npb : public testing::TestWithParam<Official> {};

TEST_P(Npb, GivesTheOfficialValue) {
  const Official& official = GetParam();
  const Outcome outcome = run_workload(std::string(official.program) + " --class " + official.problem_class);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_EQ(field(outcome.output, "Verification"), "SUCCESSFUL");
  EXPECT_EQ(field(outcome.output, "Iterations"), official.iterations);
  EXPECT_EQ(field(outcome.output, "Size"), official.size);
  const double value = std::stod(field(outcome.output, official.quantity));
  EXPECT_LE(std::abs(value / official.value - 1.0), official.tolerance) << outcome.output;
}

std::string name_of(const testing::TestParamInfo<Official>& info) {
  return std::string(info.param.program) + info.param.problem_class;
}

INSTANTIATE_TEST_SUITE_P(Small, Npb, testing::ValuesIn(k_small_classes), name_of);
#ifndef TERRACE_SANITIZED  // class A under a sanitizer takes minutes and shows nothing that class W does not
INSTANTIATE_TEST_SUITE_P(ClassA, Npb, testing::ValuesIn(k_class_a), name_of);
#endif

TEST(Npb, VerifiesAfterTheOfficialCountAndGoesOn) {
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

TEST(Npb, RefusesWhatCannotBeVerified) {
  EXPECT_EQ(run_workload("cg --class S --iterations 14 2>&1").status, 2);
  EXPECT_EQ(run_workload("mg --class B --iterations 19 2>&1").status, 2);
  EXPECT_EQ(run_workload("sp --class S --iterations 99 2>&1").status, 2);
  EXPECT_EQ(run_workload("ft --class S --iterations 5 2>&1").status, 2);
  EXPECT_EQ(run_workload("cg --class D 2>&1").status, 2);
  const Outcome wrong = run_workload("mg --klass S 2>&1");
  EXPECT_EQ(wrong.status, 2);
  EXPECT_EQ(wrong.output, "mg: no option '--klass'; --help lists them\n");
}

TEST(Stream, RatesAreBytesOverTime) {
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

TEST(Stream, TakesSizesThatAreNoMultipleOfALine) {
  EXPECT_EQ(run_workload("stream --size 8 --repetitions 1").status, 0);
  EXPECT_EQ(run_workload("stream --size 1001 --repetitions 250").status, 0);
  EXPECT_EQ(run_workload("stream --size 7 2>&1").status, 2);
  EXPECT_EQ(run_workload("stream --size 1XB 2>&1").status, 2);
  EXPECT_EQ(run_workload("stream --repetitions 251 2>&1").status, 2);
}

TEST(Chase, EveryNumberOfChainsArrivesWhereItShould) {
  for (int chains = 1; chains <= 16; ++chains) {
    // 999 lines: not a multiple of most numbers of chains; more steps than lines, so that each goes round.
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

/// A small run of a workload that knows its own truth.
struct Small {
  const char* name;
  const char* arguments;
};

void PrintTo(const Small& small, std::ostream* out) { *out << small.name << small.arguments; }

// Sizes that are no powers of two where the workload takes them, so that whatever is left over counts.
constexpr Small k_small_runs[] = {
    {"gups", " --size 1MiB"},
    {"hashjoin", " --tuples 10007 --ratio 3 --iterations 2"},
    {"spmv", " --scale 11 --per-row 9 --iterations 5"},
    {"stencil", " --side 29 --iterations 7"},
    {"btree", " --records 30011 --lookups 20000 --iterations 2"},
    {"sort", " --keys 100003 --iterations 2"},
    {"hydro", " --side 24"},
    {"graph", " --scale 11 --per-vertex 9 --iterations 3"},
    {"mergejoin", " --tuples 20011 --ratio 3 --iterations 2"},
    {"tensor", " --scale 13 --rank 7 --iterations 10"},
    {"eddy", " --elements 9 --order 6 --steps 3"},
};

std::string name_of_small(const testing::TestParamInfo<Small>& info) { return info.param.name; }

class SmallRun : public testing::TestWithParam<Small> {};

TEST_P(SmallRun, GivesTheRightResult) {
  const Outcome outcome = run_workload(std::string(GetParam().name) + GetParam().arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_EQ(field(outcome.output, "Verification"), "SUCCESSFUL");
}

TEST_P(SmallRun, RefusesAWrongCall) {
  const std::string name = GetParam().name;
  EXPECT_EQ(run_workload(name + " --iterrations 1 2>&1").status, 2);
  EXPECT_EQ(run_workload(name + " --threads 0 2>&1").status, 2);
  const Outcome outcome = run_workload(name + " --threads 2 2>&1");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.output, name + ": --threads: more than 1 needs a build with -fopenmp\n");
  EXPECT_EQ(run_workload(name + " --help").status, 0);
}

INSTANTIATE_TEST_SUITE_P(Workloads, SmallRun, testing::ValuesIn(k_small_runs), name_of_small);

TEST(Workloads, RefuseSizesThatTheyCannotTake) {
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

TEST(Workloads, TakeTheSmallestSizes) {
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

TEST(Eddy, ErrorsFallFasterThanAnyPowerOfTheOrder) {
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

TEST(Eddy, ErrorsFallWithTheThirdPowerOfTheStep) {
  const double longer = std::stod(field(eddy_output(11, 180, 18), "Velocity error"));
  const double shorter = std::stod(field(eddy_output(11, 360, 36), "Velocity error"));
  EXPECT_NEAR(std::log2(longer / shorter), 3.0, 0.25);
}

// Threads that wait do not spin, since the test may have fewer cores than they are; a thread sanitizer does not
// see how OpenMP's wait for each other.
#if defined(TERRACE_WORKLOADS_OPENMP) && !defined(TERRACE_SANITIZED)

Outcome run_threads(const std::string& arguments, int threads) {
  return run_program("OMP_WAIT_POLICY=passive " + k_workloads + "/openmp/" + arguments + " --threads " +
                     std::to_string(threads));
}

/// What a workload prints but for its times.
std::string result_of(const std::string& output) {
  std::istringstream lines(output);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("Time", 0) != 0) result += line + '\n';
  }
  return result;
}

TEST_P(SmallRun, GivesTheSameResultWithAnyNumberOfThreads) {
  const std::string call = std::string(GetParam().name) + GetParam().arguments;
  const Outcome serial = run_workload(call);
  for (const int threads : {1, 2, 4}) {
    const Outcome outcome = run_threads(call, threads);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    // gups may lose updates to races; its verification says how many are too many.
    if (call.rfind("gups", 0) == 0 && threads > 1) continue;
    EXPECT_EQ(result_of(outcome.output), result_of(serial.output)) << threads;
  }
}

TEST_P(Npb, GivesTheOfficialValueWithAnyNumberOfThreads) {
  const Official& official = GetParam();
  for (const int threads : {1, 2, 4}) {
    const Outcome outcome =
        run_threads(std::string(official.program) + " --class " + official.problem_class, threads);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    const double value = std::stod(field(outcome.output, official.quantity));
    EXPECT_LE(std::abs(value / official.value - 1.0), official.tolerance) << outcome.output;
  }
}

// All norms come before the result block.
TEST(FlowSolvers, GiveTheSameNormsWithAnyNumberOfThreads) {
  const auto norms_of = [](const std::string& output) { return output.substr(0, output.find("Benchmark")); };
  for (const char* call : {"bt --class S", "sp --class S", "lu --class S"}) {
    const Outcome serial = run_workload(call);
    for (const int threads : {3, 12}) {
      EXPECT_EQ(norms_of(run_threads(call, threads).output), norms_of(serial.output)) << call << ' ' << threads;
    }
  }
}

#endif

#ifndef TERRACE_SANITIZED  // a sanitizer's runtime insists on coming before what is preloaded

/// The markers that arrive in a library preloaded into a workload.
std::string markers_of(const std::string& arguments) {
  const std::string path = std::filesystem::temp_directory_path() / ("markers-" + std::to_string(getpid()));
  const Outcome outcome = run_program("MARKER_PROBE='" + path + "' LD_PRELOAD='" TERRACE_MARKER_PROBE "' '" +
                                      k_workloads + "/" + arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  std::filesystem::remove(path);
  return text.str();
}

std::string repeated(int times, const std::string& text) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

TEST(Markers, ReachAPreloadedLibrary) {
  const std::string cg = "init\n" + repeated(25, "matvec\nupdate\n") + "residual\nnormalise\n";
  EXPECT_EQ(markers_of("cg' --class S --iterations 16"), "begin main\n" + repeated(16, cg) + "end\n");

  std::string mg = "rprj3.5\nrprj3.4\nrprj3.3\nrprj3.2\npsinv.1\n";
  for (const char* level : {"2", "3", "4", "5"}) {
    mg += std::string("interp.") + level + "\nresid." + level + "\npsinv." + level + "\n";
  }
  EXPECT_EQ(markers_of("mg' --class S"), "begin main\n" + repeated(4, mg + "residual\n") + "end\n");

  EXPECT_EQ(markers_of("bt' --class S"),
            "begin main\n" + repeated(60, "rhs\nx_solve\ny_solve\nz_solve\nadd\n") + "end\n");
  EXPECT_EQ(markers_of("sp' --class S"),
            "begin main\n" + repeated(100, "rhs\ntxinvr\nx_solve\nninvr\ny_solve\npinvr\nz_solve\ntzetar\nadd\n") +
                "end\n");
  EXPECT_EQ(markers_of("lu' --class S"), "begin main\n" + repeated(50, "lower\nupper\nadd\nrhs\n") + "end\n");

  EXPECT_EQ(markers_of("stream' --size 1MiB --repetitions 3"),
            "begin main\n" + repeated(3, "copy\nscale\nadd\ntriad\n") + "end\n");
  EXPECT_EQ(markers_of("chase' --size 1MiB --steps 10 --repetitions 2"),
            "begin main\n" + repeated(2, "chase\ncheck\n") + "end\n");

  EXPECT_EQ(markers_of("gups' --size 64KiB --iterations 3"), "begin main\n" + repeated(3, "update\n") + "end\n");
  EXPECT_EQ(markers_of("hashjoin' --tuples 100 --iterations 2"),
            "begin main\n" + repeated(2, "build\nprobe\n") + "end\n");
  EXPECT_EQ(markers_of("spmv' --scale 6 --iterations 2"),
            "begin main\n" + repeated(2, "multiply\nnormalise\n") + "end\n");
  EXPECT_EQ(markers_of("stencil' --side 8 --iterations 2"),
            "begin main\n" + repeated(2, "forth\nback\n") + "end\n");
  EXPECT_EQ(markers_of("btree' --records 100 --lookups 10 --iterations 2"),
            "begin main\n" + repeated(2, "lookup\n") + "end\n");
  EXPECT_EQ(markers_of("sort' --keys 20000 --iterations 2"),
            "begin main\n" + repeated(2, "fill\nruns\nmerge.1\nmerge.2\ncheck\n") + "end\n");
  EXPECT_EQ(markers_of("hydro' --side 16 --steps 2"),
            "begin main\n" + repeated(2, "begin\n" + repeated(2, "forces\nmove\nzones\n")) + "end\n");
  EXPECT_EQ(markers_of("ft' --class S"),
            "begin main\n" + repeated(6, "evolve\nfft.3\nfft.2\nfft.1\nchecksum\n") + "end\n");
  EXPECT_EQ(markers_of("graph' --scale 8 --iterations 2"),
            "begin main\n" + repeated(2, "search\n" + repeated(2, "contribute\ngather\n")) + "end\n");
  EXPECT_EQ(markers_of("mergejoin' --tuples 9000 --ratio 2 --iterations 2"),
            "begin main\n" +
                repeated(2, "runs.small\nmerge.small.1\nruns.large\nmerge.large.1\nmerge.large.2\njoin\n") +
                "end\n");
  EXPECT_EQ(
      markers_of("tensor' --scale 12 --iterations 2"),
      "begin main\n" + repeated(2, "mttkrp.1\nsolve.1\nmttkrp.2\nsolve.2\nmttkrp.3\nsolve.3\nfit\n") + "end\n");
  const std::string eddy =
      "convect\nextrapolate\ndivergence\nproject\npressure\nremember\ngradient\nhelmholtz.x\nhelmholtz.y\n"
      "filter\nmonitor\n";
  EXPECT_EQ(markers_of("eddy' --elements 8 --order 5 --steps 2"), "begin main\n" + repeated(2, eddy) + "end\n");
}

#endif

TEST(BuildScript, BuildsWithAnyCompilerCommand) {
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
