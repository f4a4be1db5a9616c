// Tests repeatability of multithreaded programs: two runs give bit-identical profiles, also with busy cores.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "program_fixture.hpp"

namespace terrace::test {
namespace {

namespace fs = std::filesystem;

class Threads : public ProgramTest {
 protected:
  Threads() : ProgramTest("threads") {}

  void build(const std::string& compiler, const std::string& source) {
    const auto built = run(TERRACE_WRAPPERS "/" + compiler +
                           " -O1 -g -o program " TERRACE_SOURCE_DIR "/tests/integration/programs/" + source);
    ASSERT_EQ(built.status, 0) << built.output;
  }
  std::vector<std::string> simulate(const std::string& threads, std::string& output) {
    fs::remove(root_ + "/p.terrace");
    const auto done =
        run(TERRACE_LAUNCHER " simulate -q -m xeon-max-9480-snc4 -o p.terrace -- ./program " + threads);
    EXPECT_EQ(done.status, 0) << done.output;
    output = done.output;
    return rows("p.terrace", k_of_the_execution);
  }
  void expect_repeats(const std::string& result) {
    // process_test has a single thread.
    for (const char* threads : {"2", "4"}) {
      std::string first;
      std::string second;
      const auto idle = simulate(threads, first);
      EXPECT_NE(first.find(result), std::string::npos) << first;
      std::atomic<bool> stop{false};
      std::vector<std::thread> burners;
      for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i)
        burners.emplace_back([&] {
          while (!stop.load()) {
          }
        });
      const auto busy = simulate(threads, second);
      stop.store(true);
      for (auto& burner : burners) burner.join();
      EXPECT_EQ(first, second) << threads << " threads: who did what";
      EXPECT_TRUE(idle == busy) << threads << " threads";
    }
  }
};

TEST_F(Threads, Locks_Repeated_GiveTheSameDigits) {
  build("terrace-c++", "threads_lock.cpp -std=c++20 -pthread");
  expect_repeats("sum 586672.0");
}

TEST_F(Threads, Atomics_Repeated_GiveTheSameDigits) {
  build("terrace-c++", "threads_atomic.cpp -std=c++20 -pthread");
  expect_repeats("sum 1919874.0");
}

TEST_F(Threads, OpenMp_Repeated_GivesTheSameDigits) {
  build("terrace-cc", "openmp_schedules.c -fopenmp");
  expect_repeats("400000 400000 400000; 20 20 20 a thread; 3 10;");
}

// A real program whose threads pipeline planes of its grid, with a barrier for each.
TEST_F(Threads, Pipelines_Repeated_GiveTheSameDigits) {
  const auto built =
      run("env CXX=" TERRACE_WRAPPERS "/terrace-c++ 'CXXFLAGS=-O2 -g -fopenmp' sh " TERRACE_SOURCE_DIR
          "/workloads/build.sh . lu");
  ASSERT_EQ(built.status, 0) << built.output;
  fs::rename(root_ + "/lu", root_ + "/program");
  std::string first;
  std::string second;
  const auto once = simulate("--class S --threads 3", first);
  const auto again = simulate("--class S --threads 3", second);
  EXPECT_NE(first.find("SUCCESSFUL"), std::string::npos) << first;
  EXPECT_EQ(first, second);
  EXPECT_TRUE(once == again);
}

// The minimum time of a phase by an exact profile, with all data in fast memory, does not exceed its real one
// there. And segments of a phase, which threads execute concurrently, have durations.
TEST_F(Threads, ExactProfile_OfThreads_BoundsTheirTime) {
  build("terrace-cc", "openmp_sweeps.c -fopenmp");
  const auto run_with = [&](const std::string& threads, const std::string& words) {
    fs::remove(root_ + "/p.terrace");
    const auto done =
        run(TERRACE_LAUNCHER " " + words +
            " -q -m unimem-lat4 --cache l3=640KiB --phases sweep -o p.terrace -- ./program " + threads);
    ASSERT_EQ(done.status, 0) << done.output;
  };
  for (const std::string threads : {"1", "2", "4"}) {
    run_with(threads, "record --exact");
    const auto segments = number("p.terrace", "SELECT COUNT(*) FROM phase");
    EXPECT_GT(segments, 12) << "phases are cut";
    EXPECT_GE(number("p.terrace", "SELECT MIN(time) FROM phase"), 0);
    const std::string iteration = "(SELECT id FROM iteration WHERE exact AND number = 3)";
    const auto core = number("p.terrace", "SELECT SUM(core) FROM phase WHERE iteration = " + iteration);
    const auto exposure = number("p.terrace", "SELECT SUM(exposure) FROM cell WHERE iteration = " + iteration);
    const auto latency = number("p.terrace", "SELECT MIN(latency) FROM path");
    run_with(threads, "simulate --planner fast-only");
    const auto taken = number("p.terrace", "SELECT SUM((ended - begun) / iterations) FROM loop");
    const auto least = core + exposure * latency;
    EXPECT_LE(least, taken) << threads << " threads";
    // A single core is not limited by the place.
    if (threads == "1") {
      EXPECT_GE(least, 0.95 * taken);
    }
  }
}

}  // namespace
}  // namespace terrace::test
