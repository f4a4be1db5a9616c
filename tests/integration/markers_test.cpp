// Compares the workloads' markers with the sequence in their manifests.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "run_workload.hpp"
#include "workload.hpp"

#ifndef TERRACE_SANITIZED  // a sanitizer's runtime insists on coming before what is preloaded

namespace terrace::test {
namespace {

/// Returns the markers that a library preloaded into a workload receives.
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

class Markers : public testing::TestWithParam<Workload> {};

TEST_P(Markers, Markers_OfAWorkload_AreThePhasesOfItsManifest) {
  const Workload& workload = GetParam();
  if (!workload.has_loop()) GTEST_SKIP() << "its manifest states no loop";
  std::string expected = std::string("begin ") + workload.loop + "\n";
  for (int i = 0; i < workload.iterations; ++i) expected += workload.phases;
  EXPECT_EQ(markers_of(std::string(workload.name) + "' " + workload.tiny), expected + "end\n");
}

INSTANTIATE_TEST_SUITE_P(Workloads, Markers, testing::ValuesIn(k_all_workloads),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace terrace::test

#endif
