// Tests unmodified programs with region annotations: the repeating regions of their sources are the main loop,
// and its parts are phases. Without Terrace they run unchanged.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "program_fixture.hpp"

namespace terrace::test {
namespace {

class Regions : public ProgramTest {
 protected:
  Regions() : ProgramTest("regions") {}
  [[nodiscard]] std::string text(const std::string& query) const {
    sqlite3* store = nullptr;
    if (sqlite3_open_v2((root_ + "/o.terrace").c_str(), &store, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK)
      throw std::runtime_error("no profile");
    std::string result;
    for (detail::Query rows(store, query); rows.step();) result += (result.empty() ? "" : "|") + rows.value(0);
    sqlite3_close(store);
    return result;
  }
  void record(const std::string& command) {
    const auto alone = run(command);
    const auto done = run("timeout -s KILL 60 " TERRACE_LAUNCHER " run -o o.terrace -- " + command);
    EXPECT_EQ(alone.status, 0) << alone.output;
    EXPECT_EQ(done.status, 0) << done.output;
    EXPECT_NE(done.output.find(alone.output), std::string::npos) << done.output;
  }
  [[nodiscard]] std::string loops() const { return text("SELECT name FROM loop ORDER BY number"); }
  // Returns the phases if equal in every iteration except the last, which may be incomplete; else "differs".
  [[nodiscard]] std::string phases() const {
    const std::string turns =
        "SELECT group_concat(name, ' ') AS turn FROM (SELECT iteration, name FROM phase_instance "
        "WHERE loop = 0 ORDER BY iteration, phase) GROUP BY iteration";
    const auto different = text("SELECT count(DISTINCT turn) || '' FROM (" + turns + ")");
    return different == "1" ? text(turns + " LIMIT 1") : "differs: " + text(turns);
  }
  [[nodiscard]] std::string notes() const { return text("SELECT text FROM note WHERE text LIKE 'phases: %'"); }
};

TEST_F(Regions, Caliper_Regions_BecomePhases) {
  record(TERRACE_CALIPER_REGIONS);
  EXPECT_EQ(loops(), "iteration#main");
  EXPECT_EQ(phases(), "iteration#main advance exchange re-duce");
  EXPECT_EQ(notes(), "phases: Caliper regions");
  // Two of the eight iterations are needed for detection.
  EXPECT_EQ(text("SELECT iterations || ' ' || turns_before FROM loop"), "6 2");
}

TEST_F(Regions, ExplicitMarkers_InTheProgram_DisableRegions) {
  record(TERRACE_CALIPER_REGIONS " marked");
  EXPECT_EQ(text("SELECT name || ' ' || iterations FROM loop ORDER BY number"), "iteration#main 2|own 4");
  EXPECT_EQ(text("SELECT DISTINCT name FROM phase_instance WHERE loop = 1"), "own phase");
}

TEST_F(Regions, PhasesOption_OtherSource_DisablesRegions) {
  const auto done =
      run("timeout -s KILL 60 " TERRACE_LAUNCHER " run --phases advance -o o.terrace -- " TERRACE_CALIPER_REGIONS);
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_EQ(text("SELECT name FROM loop WHERE name LIKE 'iteration%'"), "");
}

// Built with hooks, so that virtual time advances, which decides which regions are too short.
TEST_F(Regions, Run_InVirtualTime_RepeatsItsRegions) {
  const auto built =
      run(TERRACE_WRAPPERS "/terrace-c++ -O1 " TERRACE_REGIONS "/caliper_regions.cpp " TERRACE_CALIPER
                           " -Wl,-rpath," TERRACE_CALIPER_FOLDER " -ldl -o hooked");
  ASSERT_EQ(built.status, 0) << built.output;
  for (const char* const file : {"a.terrace", "o.terrace"}) {
    const auto done = run("timeout -s KILL 100 " TERRACE_LAUNCHER " simulate --machine " TERRACE_SOURCE_DIR
                          "/machines/knl-7210-flat.toml -o " +
                          std::string(file) + " -- ./hooked");
    EXPECT_EQ(done.status, 0) << done.output;
  }
  EXPECT_EQ(rows("a.terrace", k_of_the_execution), rows("o.terrace", k_of_the_execution));
  EXPECT_NE(loops().find("iteration#main"), std::string::npos) << loops();
}

TEST_F(Regions, Program_WithoutTerrace_RunsUnchanged) {
  const auto off = run("env TERRACE=off LD_PRELOAD=" TERRACE_LIBRARY " KOKKOS_TOOLS_LIBS=" TERRACE_LIBRARY
                       " NVTX_INJECTION64_PATH=" TERRACE_LIBRARY " " TERRACE_CALIPER_REGIONS);
  EXPECT_EQ(off.status, 0);
  EXPECT_EQ(off.output, run(TERRACE_CALIPER_REGIONS).output);
  EXPECT_NE(off.output.find("open 0 wrong 0"), std::string::npos) << off.output;
}

// The library is preloaded, or loaded by the tools' interface, without a session.
TEST_F(Regions, Library_WithoutSession_IgnoresRegions) {
  const std::string named = "env KOKKOS_TOOLS_LIBS=" TERRACE_LIBRARY " KOKKOS_PROFILE_LIBRARY=" TERRACE_LIBRARY
                            " NVTX_INJECTION64_PATH=" TERRACE_LIBRARY " ";
  const char* const programs[] = {
#ifdef TERRACE_NVTX_REGIONS
      TERRACE_NVTX_REGIONS,
#endif
#ifdef TERRACE_KOKKOS_REGIONS
      TERRACE_KOKKOS_REGIONS,
#endif
#ifdef TERRACE_OPENMP_REGIONS
      TERRACE_OPENMP_REGIONS,
#endif
      TERRACE_CALIPER_REGIONS};
  for (const std::string program : programs) {
    const auto alone = run(program);
    for (const std::string how : {"", "TERRACE=off ", "LD_PRELOAD=" TERRACE_LIBRARY " "}) {
      const auto done = run(named + how + program);
      EXPECT_EQ(done.status, 0) << how << program;
      EXPECT_EQ(done.output, alone.output) << how << program;
    }
  }
}

TEST_F(Regions, OtherTools_NamedByTheUser_StayActive) {
  const std::string show = " -- sh -c 'echo $NVTX_INJECTION64_PATH,$KOKKOS_TOOLS_LIBS,$KOKKOS_PROFILE_LIBRARY'";
  // Without requests, the library variant without hooks.
  const auto ours = (std::filesystem::path(TERRACE_LIBRARY).parent_path() / "libterrace_unfollowed.so").string();
  EXPECT_EQ(run(TERRACE_LAUNCHER " run" + show).output, ours + "," + ours + "," + ours + "\n");
  EXPECT_EQ(run("env NVTX_INJECTION64_PATH=/a KOKKOS_TOOLS_LIBS=/b " TERRACE_LAUNCHER " run" + show).output,
            "/a,/b,\n");
  EXPECT_EQ(run("env KOKKOS_PROFILE_LIBRARY=/c " TERRACE_LAUNCHER " run" + show).output, ours + ",,/c\n");
  EXPECT_EQ(run(TERRACE_LAUNCHER " run" + show + " --kokkos-tools-library=/d").output, ours + ",,\n");
  EXPECT_EQ(run("env TERRACE=off " TERRACE_LAUNCHER " run" + show).output, ",,\n");
}

#ifdef TERRACE_NVTX_REGIONS
TEST_F(Regions, Nvtx_Ranges_BecomePhases) {
  record(TERRACE_NVTX_REGIONS);
  EXPECT_EQ(loops(), "step");
  EXPECT_EQ(phases(), "step exchange solver/smooth r\u00e9duction");
  EXPECT_EQ(notes(), "phases: NVTX ranges");
}

TEST_F(Regions, Regions_OfOtherThreadsAndChildren_AreIgnored) {
  for (int i = 0; i < 3; ++i) {
    std::filesystem::remove(root_ + "/o.terrace");
    record(TERRACE_NVTX_REGIONS " more");
    EXPECT_EQ(phases(), "step exchange solver/smooth r\u00e9duction");
    EXPECT_EQ(text("SELECT count(*) || '' FROM phase_instance WHERE name LIKE '%elsewhere%' OR name = 'child'"),
              "0");
  }
}
#endif

#ifdef TERRACE_KOKKOS_REGIONS
TEST_F(Regions, Kokkos_Kernels_BecomePhases) {
  record(TERRACE_KOKKOS_REGIONS);
  EXPECT_EQ(loops(), "steps");
  EXPECT_EQ(phases(), "axpy smooth dot prefix");
  EXPECT_EQ(notes(), "phases: Kokkos kernels");
  // 8 MiB after a header: the pages of its own.
  EXPECT_EQ(
      text("SELECT name FROM object WHERE kind = 'named' AND size BETWEEN 8380416 AND 8392704 ORDER BY name"),
      "x|y");
  EXPECT_EQ(text("SELECT count(*) || '' FROM object WHERE name IN ('x', 'y') AND died IS NULL"), "0");
}
#endif

#ifdef TERRACE_OPENMP_REGIONS
TEST_F(Regions, OpenMp_ParallelRegions_BecomePhases) {
  setenv("OMP_NUM_THREADS", "2", 1);
  record(TERRACE_OPENMP_REGIONS);
  EXPECT_EQ(loops(), "(regions)");
  EXPECT_EQ(phases(), "parallel smooth:8 parallel reduce:14");
  EXPECT_EQ(notes(), "phases: OpenMP parallel regions");
}

TEST_F(Regions, OpenMp_OtherToolNamed_IsNotObserved) {
  setenv("OMP_TOOL_LIBRARIES", "/nowhere/libtool.so", 1);
  record(TERRACE_OPENMP_REGIONS);
  unsetenv("OMP_TOOL_LIBRARIES");
  EXPECT_EQ(notes(), "");
}
#endif

}  // namespace
}  // namespace terrace::test
