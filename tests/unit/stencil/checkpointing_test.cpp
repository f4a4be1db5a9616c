// Tests that a program restarted from a checkpoint gives the same digits as an uninterrupted run.
#include "workloads/stencils/checkpointing.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "io_files.hpp"

namespace terrace::stencil::programs {
namespace {

using Given = std::map<std::string, std::string>;

struct Restarts : testing::Test {
  static double run(Given given) {
    Context context(Options{.executor = "tiled", .threads = 2, .tile = {20, 9, 0}});
    given["cells"] = "50";
    Arguments arguments(std::move(given));
    return find_stencil_program("jacobi").run(context, arguments).front().value;
  }
  static std::string refusal(const Given& given) {
    return test::error_of([&] { (void)run(given); }, Code::invalid);
  }
  test::Folder folder;
  std::string file = folder / "state.h5";
};

TEST_F(Restarts, FromAnyStep_GivesSameDigits) {
  const auto expected = run({{"iterations", "40"}});
  // After an odd and an even number of iterations, and after the last.
  for (const auto* const every : {"7", "10", "40", "1"}) {
    run({{"iterations", "21"}, {"checkpoint", file}, {"every", every}});
    if (std::string(every) == "40") run({{"iterations", "40"}, {"checkpoint", file}, {"every", every}});
    EXPECT_EQ(run({{"iterations", "40"}, {"restart", file}}), expected) << every;
  }
}

// Also from the last step, with nothing left to do.
TEST_F(Restarts, CloverLeaf_GivesSameSummary) {
  double steps_run = 0;
  const auto summary = [&](Given given) {
    Context context(Options{.executor = "tiled", .threads = 1, .tile = {20, 9, 0}});
    given.merge(Given{{"problem", "tp2"}, {"cells", "24x24"}, {"steps", "12"}});
    Arguments arguments(std::move(given));
    std::map<std::string, double> found;
    for (const auto& one : find_stencil_program("cloverleaf2d").run(context, arguments))
      found[one.name] = one.value;
    found.erase("loops_per_step");  // with no step left, none was counted
    steps_run = found.at("steps_run");
    found.erase("steps_run");
    return found;
  };
  const auto expected = summary({});
  EXPECT_EQ(expected.at("steps"), 12);
  EXPECT_EQ(steps_run, 12);
  for (const auto& [every, left] : {std::pair("5", 2.), std::pair("12", 0.), std::pair("1", 0.)}) {
    summary({{"checkpoint", file}, {"every", every}});
    EXPECT_EQ(summary({{"restart", file}}), expected) << every;
    EXPECT_EQ(steps_run, left) << every;
  }
}

// The last checkpoint starts a run that writes checkpoints of its own.
TEST_F(Restarts, FromLastCheckpoint_ContinuesStepByStep) {
  run({{"iterations", "5"}, {"checkpoint", file}, {"every", "5"}});
  for (const auto* const iterations : {"10", "15", "20"})
    run({{"iterations", iterations}, {"restart", file}, {"checkpoint", file}, {"every", "5"}});
  EXPECT_EQ(run({{"iterations", "20"}, {"restart", file}}), run({{"iterations", "20"}}));
}

TEST_F(Restarts, WithInvalidOptions_AreRefused) {
  EXPECT_EQ(refusal({{"every", "5"}}), "every=5: there is no checkpoint=FILE to write");
  EXPECT_EQ(refusal({{"checkpoint", "a.h5"}}),
            "checkpoint=a.h5: every=N with N from 1 on says after how many steps");
  EXPECT_EQ(refusal({{"checkpoint", "a.h5"}, {"every", "-1"}}), "every=-1: give at least 1");
  run({{"iterations", "20"}, {"checkpoint", file}, {"every", "20"}});
  EXPECT_EQ(refusal({{"iterations", "19"}, {"restart", file}}),
            "restart=" + file + ": 20 steps are done there, 19 are requested: request more");
}

}  // namespace
}  // namespace terrace::stencil::programs
