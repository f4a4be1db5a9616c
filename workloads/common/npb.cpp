// Parses the command line and prints the result block of the NAS Parallel Benchmarks in workloads/.
#include "common/npb.hpp"

#include <cmath>
#include <cstdio>
#include <string_view>

#include "common/threads.hpp"

namespace workloads {

NpbArguments parse_npb_arguments(int argc, char** argv, const std::string& program, const std::string& summary,
                                 std::uint64_t (*official_iterations)(char problem_class), bool prints) {
  std::string problem_class = "S";
  std::uint64_t iterations = 0;
  std::uint64_t threads = 1;
  Options options(program, summary);
  if (!prints) options.silence();
  options.text("--class", &problem_class, "problem class: S, W, A, B or C");
  options.count(
      "--iterations", &iterations,
      "how many to run; the result is verified after the class's own number, and not at all where fewer run");
  declare_threads(options, &threads);
  options.parse(argc, argv);
  use_threads(options, threads);

  if (problem_class.size() != 1 || std::string_view("SWABC").find(problem_class) == std::string_view::npos) {
    options.fail("--class: expected S, W, A, B or C, found '" + problem_class + "'");
  }
  const std::uint64_t official = official_iterations(problem_class[0]);
  if (iterations == 0) iterations = official;
  return {problem_class[0], iterations};
}

bool NpbResult::verified() const {
  // A NaN compares false, so it fails.
  return std::abs(value - reference) <= tolerance * std::abs(reference);
}

int report(const NpbResult& result) {
  std::printf("\n %s Benchmark Completed.\n", result.name.c_str());
  std::printf(" Class           = %24c\n", result.problem_class);
  std::printf(" Size            = %24s\n", result.size.c_str());
  std::printf(" Iterations      = %24llu\n", static_cast<unsigned long long>(result.iterations));
  std::printf(" Time in seconds = %24.9f\n", result.seconds);
  std::printf(" Mop/s total     = %24.2f\n", result.operations / result.seconds * 1e-6);
  if (result.iterations < result.official_iterations) {
    std::printf(" Verification    = %24s\n", "NOT PERFORMED");
    return 0;
  }
  std::printf(" Verified after  = %24llu\n", static_cast<unsigned long long>(result.official_iterations));
  std::printf(" %-15s = %24.15E\n", result.quantity.c_str(), result.value);
  std::printf(" Reference       = %24.15E\n", result.reference);
  std::printf(" Relative error  = %24.15E\n", std::abs(result.value / result.reference - 1.0));
  std::printf(" Verification    = %24s\n", result.verified() ? "SUCCESSFUL" : "FAILED");
  return result.verified() ? 0 : 1;
}

}  // namespace workloads
