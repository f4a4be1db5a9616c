// Programs with threads, twice each: the same profile to the last bit, with the other cores busy too.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "run_program.hpp"
#include "store_dump.hpp"

namespace terrace::test {
namespace {

namespace fs = std::filesystem;

const std::set<std::string> k_of_the_execution = {"run.journal",         "run.process",    "run.parent",
                                                  "run.started_unix_ns", "object.address", "reach",
                                                  "reach_code",          "reach_object"};

class Threads : public ::testing::Test {
 protected:
  Threads() : root_((fs::temp_directory_path() / "threads-XXXXXX").string()) {
    if (!mkdtemp(root_.data())) throw std::runtime_error(root_ + ": cannot be made");
  }
  ~Threads() override { fs::remove_all(root_); }

  Outcome run(const std::string& command) { return run_program("cd '" + root_ + "' && " + command + " 2>&1"); }
  void build(const std::string& compiler, const std::string& source) {
    const auto built = run(TERRACE_WRAPPERS "/" + compiler +
                           " -O1 -g -o program " TERRACE_SOURCE_DIR "/tests/integration/programs/" + source);
    ASSERT_EQ(built.status, 0) << built.output;
  }
  std::vector<std::string> simulate(const std::string& threads, std::string& output) {
    const auto done =
        run("rm -f p.terrace; " TERRACE_LAUNCHER " simulate -q -m xeon-max-9480-snc4 -o p.terrace -- ./program " +
            threads);
    EXPECT_EQ(done.status, 0) << done.output;
    output = done.output;
    return dump_store(root_ + "/p.terrace", k_of_the_execution);
  }
  void expect_repeats(const std::string& result) {
    for (const char* threads : {"1", "2", "4"}) {
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

  std::string root_;
};

TEST_F(Threads, LocksRepeat) {
  build("terrace-c++", "threads_lock.cpp -std=c++20 -pthread");
  expect_repeats("sum 586672.0");
}

TEST_F(Threads, AtomicsRepeat) {
  build("terrace-c++", "threads_atomic.cpp -std=c++20 -pthread");
  expect_repeats("sum 1919874.0");
}

TEST_F(Threads, OpenmpRepeats) {
  build("terrace-cc", "openmp_schedules.c -fopenmp");
  expect_repeats("400000 400000 400000; 20 20 20 a thread; 3 10;");
}

// What an exact profile says that a phase needs at the least, with all its data in fast memory, is no more than
// what it takes there; and segments of a phase, which threads go through side by side, have lengths.
TEST_F(Threads, ExactProfilesBoundWhatThreadsTake) {
  build("terrace-cc", "openmp_sweeps.c -fopenmp");
  const auto run_with = [&](const std::string& threads, const std::string& words) {
    const auto done =
        run("rm -f p.terrace; " TERRACE_LAUNCHER " " + words +
            " -q -m unimem-lat4 --cache l3=640KiB --phases sweep -o p.terrace -- ./program " + threads);
    ASSERT_EQ(done.status, 0) << done.output;
  };
  for (const std::string threads : {"1", "2", "4"}) {
    run_with(threads, "record --exact");
    const auto segments = store_number(root_ + "/p.terrace", "SELECT COUNT(*) FROM phase");
    EXPECT_GT(segments, 12) << "phases are cut";
    EXPECT_GE(store_number(root_ + "/p.terrace", "SELECT MIN(time) FROM phase"), 0);
    const std::string iteration = "(SELECT id FROM iteration WHERE exact AND number = 3)";
    const auto core =
        store_number(root_ + "/p.terrace", "SELECT SUM(core) FROM phase WHERE iteration = " + iteration);
    const auto exposure =
        store_number(root_ + "/p.terrace", "SELECT SUM(exposure) FROM cell WHERE iteration = " + iteration);
    const auto latency = store_number(root_ + "/p.terrace", "SELECT MIN(latency) FROM path");
    run_with(threads, "simulate --planner fast-only");
    const auto taken = store_number(root_ + "/p.terrace", "SELECT SUM((ended - begun) / iterations) FROM loop");
    const auto least = core + exposure * latency;
    EXPECT_LE(least, taken) << threads << " threads";
    // One core alone is not held back by the place.
    if (threads == "1") EXPECT_GE(least, 0.95 * taken);
  }
}

}  // namespace
}  // namespace terrace::test
