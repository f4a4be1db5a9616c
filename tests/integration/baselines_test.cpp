// Runs CG under every baseline policy, one configuration each, in one execution. Checks the verified result, that
// no place ever exceeds its budget, equality with a replay, and relations that hold for all baselines.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "program_fixture.hpp"

namespace terrace::test {
namespace {

class Baselines : public ProgramTest {
 protected:
  Baselines() : ProgramTest("baselines") {
    std::filesystem::create_symlink(std::string(TERRACE_HOOKED) + "/cg", root_ + "/cg");
  }
  static std::string configurations() {
    std::string options = "--machine unimem-lat4 --cache l3=120KiB --fast " + std::to_string(k_fast);
    for (const auto* planner : k_planners)
      options += std::string(" --config 'label=") + planner + " planner=" + planner + "'";
    return options;
  }
  // Returns the loop's virtual time.
  double seconds(const std::string& folder, const std::string& planner) {
    return number(store(folder, planner), "SELECT SUM(ended - begun) FROM loop");
  }
  static std::string store(const std::string& folder, const std::string& planner) {
    return folder + "." + planner + ".terrace";
  }

  static constexpr std::uint64_t k_fast = 512 << 10;
  static constexpr const char* k_planners[] = {
      "slow-only",           "fast-only", "auto",        "xmem",           "ecohmem", "soar", "interleave",
      "weighted-interleave", "memtis",    "first-touch", "kernel-tiering", "colloid", "alto", "cache-mode"};
};

// Capacity is reserved when a transfer begins and released when it has completed.
constexpr const char* k_max_held =
    "WITH change(at, bytes) AS ("
    "SELECT o.born, SUM(MIN(o.size, (p.first + p.chunks) * o.chunk_size) - p.first * o.chunk_size) FROM object o "
    "JOIN object_place p ON p.run = o.run AND p.object = o.id WHERE p.place = 0 GROUP BY o.run, o.id "
    "UNION ALL SELECT begun, size FROM move WHERE target = 0 AND NOT refused "
    "UNION ALL SELECT done, -size FROM move WHERE source = 0 AND NOT refused) "
    "SELECT COALESCE(MAX(held), 0) FROM (SELECT SUM(bytes) OVER (ORDER BY at, bytes ROWS UNBOUNDED PRECEDING) "
    "AS held FROM change)";

TEST_F(Baselines, Cg_EveryBudget_VerifiesAndReplays) {
  const auto done = run(TERRACE_LAUNCHER " simulate -q -o e.terrace --misses app.misses " + configurations() +
                        " -- ./cg --class S --iterations 15");
  ASSERT_EQ(done.status, 0) << done.output;
  EXPECT_NE(done.output.find("SUCCESSFUL"), std::string::npos) << done.output;
  const auto replayed = run(TERRACE_LAUNCHER " replay app.misses -q -o r.terrace " + configurations());
  ASSERT_EQ(replayed.status, 0) << replayed.output;
  const auto fast = seconds("e", "fast-only"), slow = seconds("e", "slow-only");
  EXPECT_LT(fast, slow);
  for (const std::string planner : k_planners) {
    if (planner != "fast-only") {  // promises to ignore the budget
      EXPECT_LE(number(store("e", planner), k_max_held), k_fast) << planner;
    }
    EXPECT_EQ(rows(store("e", planner), k_of_both), rows(store("r", planner), k_of_both)) << planner;
    EXPECT_GE(seconds("e", planner), fast) << planner;
    if (planner == "cache-mode") {
      // Each fetched line costs more than in slow memory alone; nothing is migrated or placed in fast memory.
      EXPECT_EQ(number(store("e", planner), "SELECT COUNT(*) FROM move"), 0);
      EXPECT_EQ(number(store("e", planner), "SELECT COUNT(*) FROM object_place WHERE place = 0"), 0);
    }
    const auto plans = number(store("e", planner), "SELECT COUNT(*) FROM plan");
    const bool learns = planner == "xmem" || planner == "ecohmem" || planner == "soar";
    if (planner == "auto")  // one after another, each predicted to be better
      EXPECT_GE(plans, 1) << planner;
    else
      EXPECT_EQ(plans, learns ? 1 : 0) << planner;
  }
}

TEST_F(Baselines, Threads_UnderPolicies_AreScheduledRepeatably) {
  const auto built = run(TERRACE_WRAPPERS "/terrace-cc -O1 -g -fopenmp -o sweeps " TERRACE_SOURCE_DIR
                                          "/tests/integration/programs/openmp_sweeps.c");
  ASSERT_EQ(built.status, 0) << built.output;
  const std::string options =
      "--machine unimem-lat4 --cache l3=120KiB --fast 2MiB --config 'label=memtis planner=memtis' "
      "--config 'label=kernel planner=kernel-tiering' --config 'label=colloid planner=colloid' "
      "--config 'label=cache planner=cache-mode'";
  const auto recorded = run(TERRACE_LAUNCHER " simulate -q -o e.terrace --misses app.misses " + options +
                            " --phases sweep -- ./sweeps 2");
  ASSERT_EQ(recorded.status, 0) << recorded.output;
  const auto again =
      run(TERRACE_LAUNCHER " simulate -q -o a.terrace " + options + " --phases sweep -- ./sweeps 2");
  ASSERT_EQ(again.status, 0) << again.output;
  const auto replayed = run(TERRACE_LAUNCHER " replay app.misses -q -o r.terrace " + options);
  ASSERT_EQ(replayed.status, 0) << replayed.output;
  for (const std::string configuration : {"memtis", "kernel", "colloid", "cache"}) {
    EXPECT_EQ(rows(store("e", configuration), k_of_both), rows(store("a", configuration), k_of_both))
        << configuration;
    EXPECT_EQ(rows(store("e", configuration), k_of_both), rows(store("r", configuration), k_of_both))
        << configuration;
  }
  EXPECT_GT(number(store("e", "colloid"), "SELECT COUNT(*) FROM move"), 0);
}

TEST_F(Baselines, RealRun_PolicyWithoutItsInput_IsRefused) {
  for (const std::string planner : {"colloid", "cache-mode"}) {
    const auto refused = run(TERRACE_LAUNCHER " run --planner " + planner + " -- ./cg --class S");
    EXPECT_EQ(refused.status, 2);
    EXPECT_EQ(std::count(refused.output.begin(), refused.output.end(), '\n'), 1) << refused.output;
    EXPECT_NE(refused.output.find("virtual time only"), std::string::npos) << refused.output;
  }
}

}  // namespace
}  // namespace terrace::test
