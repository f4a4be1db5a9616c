// The workloads' markers against the sequence that their documentation states.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "run_workload.hpp"

#ifndef TERRACE_SANITIZED  // a sanitizer's runtime insists on coming before what is preloaded

namespace terrace::test {
namespace {

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

}  // namespace
}  // namespace terrace::test

#endif
