// Tests the measurement of instrumentation coverage: libraries without hooks, linked and loaded, on all threads,
// and their allocations. The result is stored, also in recordings, causes a warning, and does not affect the
// program. Uses tests/integration/programs/coverage, with one library built by the wrappers and by the plain
// compiler.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "run_program.hpp"
#include "store_dump.hpp"

namespace terrace::test {
namespace {

namespace fs = std::filesystem;

// Sweeps that take about half a second in total.
constexpr const char* k_long = "500";

class Coverage : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    root = fs::temp_directory_path() / ("coverage-" + std::to_string(getpid()));
    fs::copy(TERRACE_SOURCE_DIR "/tests/integration/programs/coverage", root, fs::copy_options::recursive);
    const auto made = run_program("env -u MAKEFLAGS -u MAKELEVEL make -s -C '" + root.string() +
                                  "' CC=" TERRACE_WRAPPERS "/terrace-cc 2>&1");
    ASSERT_EQ(made.status, 0) << made.output;
  }
  static void TearDownTestSuite() { fs::remove_all(root); }
  void TearDown() override {
    for (const auto& entry : fs::directory_iterator(root))
      if (entry.path().extension() == ".terrace" || entry.path().extension() == ".misses")
        fs::remove(entry.path());
  }

  static Outcome run(const std::string& command) {
    return run_program("cd '" + root.string() + "' && XDG_CACHE_HOME='" + root.string() + "' timeout 600 " +
                       command + " 2>&1");
  }
  static Outcome simulate(const std::string& command, const std::string& options = "-q") {
    auto done = run(TERRACE_LAUNCHER " simulate --machine unimem-lat4 --phases auto -o profile.terrace " +
                    options + " -- " + command);
    EXPECT_EQ(done.status, 0) << done.output;
    return done;
  }
  // Returns the first column of a query's first row, or -1 without rows.
  static double number(const std::string& query, const std::string& file = "profile.terrace") {
    sqlite3* store = nullptr;
    EXPECT_EQ(sqlite3_open_v2((root / file).c_str(), &store, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    double result = -1;
    EXPECT_EQ(sqlite3_exec(
                  store, query.c_str(),
                  [](void* out, int, char** values, char**) {
                    *static_cast<double*>(out) = values[0] ? std::stod(values[0]) : -1;
                    return 0;
                  },
                  &result, nullptr),
              SQLITE_OK)
        << sqlite3_errmsg(store);
    sqlite3_close(store);
    return result;
  }
  static bool sampled() { return number("select sample_period from coverage") > 0; }
  // Seconds.
  static double spent(const std::string& file) {
    return number("select coalesce(sum(in_loop + elsewhere), 0) from coverage_code where path like '%/" + file +
                  "'");
  }

  static fs::path root;
};

fs::path Coverage::root;

// If the kernel does not permit sampling, the profile says so, and time is not tested.
#define NEEDS_SAMPLES() \
  if (!sampled()) GTEST_SKIP() << "the kernel does not permit sampling"

TEST_F(Coverage, Library_WithoutHooks_IsReportedUncovered) {
  simulate("./outside " + std::string(k_long));
  // Its block lives during the solve: most of the time, and a third of the used heap.
  EXPECT_GT(number("select heap_uncovered / heap from coverage"), 0.1);
  EXPECT_EQ(
      number(
          "select count(*) from coverage_object join object on object.run = coverage_object.run and id = object "
          "where size = 2097152 and uncovered = 2097152"),
      2)
      << "those of the loop that was found";
  NEEDS_SAMPLES();
  EXPECT_GT(number("select time_at_least from coverage"), 0.5);
  EXPECT_GT(spent("libplain.so"), 0.2);
  EXPECT_EQ(number("select hooks from coverage_code where path like '%/libplain.so'"), 0);
  EXPECT_NE(number("select hooks from coverage_code where path like '%/outside'"), 0);
}

// Its functions call malloc but no hook, so they were built without hooks.
TEST_F(Coverage, ObjectFile_WithoutHooks_IsReportedUncovered) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "only on x86-64";
#endif
  simulate("./mixed " + std::string(k_long));
  EXPECT_GT(number("select heap_uncovered / heap from coverage"), 0.1);
  NEEDS_SAMPLES();
  EXPECT_GT(number("select time_at_least from coverage"), 0.5);
  EXPECT_GT(number("select in_loop from coverage_code where path like '%/mixed' and not hooks"), 0.08);
}

TEST_F(Coverage, Library_WithHooks_IsReportedCovered) {
  simulate("./inside 3");
  EXPECT_LT(number("select heap_uncovered / heap from coverage"), 0.05);
  EXPECT_EQ(
      number(
          "select count(*) from coverage_object join object on object.run = coverage_object.run and id = object "
          "where size = 2097152"),
      0);
  NEEDS_SAMPLES();
  EXPECT_LT(number("select time_at_least from coverage"), 0.1);
  EXPECT_NE(number("select hooks from coverage_code where path like '%/libhooked.so'"), 0);
}

TEST_F(Coverage, Threads_AllOfThem_AreSampled) {
  simulate("./threads 10000");
  NEEDS_SAMPLES();
  EXPECT_GT(spent("libplain.so"), 0.2);
  EXPECT_GT(number("select time_at_least from coverage"), 0.5);
}

TEST_F(Coverage, Library_LoadedLate_IsReported) {
  simulate("./plugged 10000");
  NEEDS_SAMPLES();
  EXPECT_GT(spent("plugin.so"), 0.2);
}

TEST_F(Coverage, UncoveredShare_AboveATenth_IsAWarning) {
  const auto warned = simulate("./outside " + std::string(k_long), "");
  EXPECT_NE(warned.output.find(" % of the heap was used only by uninstrumented code; terrace show"),
            std::string::npos)
      << warned.output;
  if (sampled()) {
    EXPECT_NE(warned.output.find(" % of the time was spent in uninstrumented code; terrace show profile.terrace"),
              std::string::npos)
        << warned.output;
  }
  fs::remove(root / "profile.terrace");
  EXPECT_EQ(simulate("./inside 3", "").output.find("warning"), std::string::npos);
}

// The program is unaffected: same results and descriptors, with any kind of child.
TEST_F(Coverage, Program_WhileSampled_BehavesAsWithout) {
  const auto native = run("env TERRACE=off ./outside 3");
  EXPECT_NE(native.output.find("0 samplers, child 3"), std::string::npos) << native.output;
  EXPECT_EQ(simulate("./outside 3").output, native.output);
  fs::remove(root / "profile.terrace");
  EXPECT_EQ(simulate("./inside 3").output, run("./inside 3").output);
}

// A recording keeps the coverage of its run: replays print the same warning.
TEST_F(Coverage, Recording_OfARun_ContainsCoverage) {
  simulate("./outside " + std::string(k_long), "-q --misses app.misses");
  const auto replayed = run(TERRACE_LAUNCHER " replay app.misses -q -m unimem-lat4 -o replay.terrace");
  ASSERT_EQ(replayed.status, 0) << replayed.output;
  for (const std::string query :
       {"select time_share from coverage", "select heap_uncovered from coverage", "select samples from coverage",
        "select sum(in_loop) from coverage_code", "select sum(elsewhere) from coverage_code",
        "select sum(uncovered) from coverage_object"})
    EXPECT_EQ(number(query), number(query, "replay.terrace")) << query;
  EXPECT_EQ(number("select count(*) from coverage", "replay.terrace"), 1);
}

}  // namespace
}  // namespace terrace::test
