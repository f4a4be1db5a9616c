// Tests of equations 1 to 4 against the paper's example and numbers computed by hand.
#include "model/unimem_model.hpp"

#include <gtest/gtest.h>

namespace terrace::model {
namespace {

// Unimem's machine with a quarter of the bandwidth and four times the latency, and one item of 64 MB.
Problem one_item(double samples) {
  Problem problem;
  problem.places = {{"fast", "ddr", 0, Bytes{256'000'000}, 16e9, 16e9, 86e-9},
                    {"slow", "nvm", 0, Bytes{16'000'000'000}, 4e9, 4e9, 344e-9}};
  problem.copy = {{0, 4e9}, {4e9, 0}};
  problem.homes = {1};
  problem.fastest_first = {{0, 1}};
  problem.objects = {{"a", Bytes{64'000'000}, 1}};
  problem.items = {{Bytes{64'000'000}, 0, 0, 0, 1, k_no_place}};
  problem.measured_at = {1};
  ProblemPhase phase;
  phase.measured = Seconds{1};
  phase.samples = 1000;
  phase.cells = {{0, 64e6, 0, 0, samples}};
  problem.phases = {phase};
  return problem;
}

Calibration calibration(double peak, double bandwidth, double latency) {
  Calibration constants;
  constants.places = {{peak, 1, 1}, {peak, bandwidth, latency}};
  return constants;
}

// "10 s, 1 GHz, a sample every 1,000 cycles: 1e7 samples; 1e5 of them meet the object: 0.1 s."
TEST(Equation1, PapersExample_Matches) {
  const double samples = 10.0 * 1e9 / 1000;
  EXPECT_DOUBLE_EQ(accessing_time(1e5, samples, Seconds{10}).value, 0.1);
  EXPECT_DOUBLE_EQ(consumed_bandwidth(64e6, 1e5, samples, Seconds{10}), 64e6 / 0.1);
}

TEST(Equation1, NoSamples_IsZero) {
  EXPECT_EQ(consumed_bandwidth(64e6, 0, 1000, Seconds{1}), 0);
  EXPECT_EQ(consumed_bandwidth(64e6, 0, 0, Seconds{1}), 0);
}

TEST(Sensitivity, PapersThresholds_Separate) {
  const Calibration constants;
  EXPECT_EQ(sensitivity(8.0, 10, constants), Sensitivity::bandwidth);
  EXPECT_EQ(sensitivity(7.99, 10, constants), Sensitivity::either);
  EXPECT_EQ(sensitivity(1.0, 10, constants), Sensitivity::either);
  EXPECT_EQ(sensitivity(0.99, 10, constants), Sensitivity::latency);
}

// 64 MB take 16 ms at 4 GB/s and 4 ms at 16 GB/s; a million lines lose 258 ns each: 0.258 s.
TEST(Equations2And3, Sensitivity_SelectsEquationAndConstants) {
  const auto gain = [](double samples, double peak) {
    const auto problem = one_item(samples);
    const auto constants = calibration(peak, 1.5, 0.5);
    return UnimemModel(problem, constants).benefit(0, problem.phases[0].cells[0], 1, 0);
  };
  const double by_bandwidth = (0.016 - 0.004) * 1.5, by_latency = 0.258 * 0.5;
  EXPECT_NEAR(gain(20, 4e9), by_bandwidth, 1e-12);  // 3.2 GB/s while accessed: 80 % of the peak
  EXPECT_NEAR(gain(1000, 4e9), by_latency, 1e-12);  // 64 MB/s: far below 10 %
  EXPECT_NEAR(gain(100, 4e9), std::max(by_bandwidth, by_latency), 1e-12);
}

TEST(Equations2And3, OppositeMove_HasOppositeGain) {
  const auto problem = one_item(100);
  const auto constants = calibration(4e9, 1.5, 0.5);
  const UnimemModel model(problem, constants);
  const auto& cell = problem.phases[0].cells[0];
  EXPECT_DOUBLE_EQ(model.benefit(0, cell, 0, 1), -model.benefit(0, cell, 1, 0));
  EXPECT_EQ(model.benefit(0, cell, 1, 1), 0);
}

// 64 MB at 4 GB/s: 16 ms, less the overlap, at least 0.
TEST(Equation4, Overlap_IsSubtracted) {
  const auto problem = one_item(100);
  const Calibration constants;
  const UnimemModel model(problem, constants);
  EXPECT_NEAR(model.cost(0, 1, 0, 0), 0.016, 1e-15);
  EXPECT_NEAR(model.cost(0, 1, 0, 0.010), 0.006, 1e-15);
  EXPECT_EQ(model.cost(0, 1, 0, 0.020), 0);
  EXPECT_EQ(model.cost(0, 1, 1, 0), 0);
}

// Two chunks of one object with few samples: the object's sensitivity applies to both.
TEST(Sensitivity, SeveralChunks_UseTheWholeObject) {
  auto problem = one_item(0);
  problem.items.push_back(problem.items[0]);
  problem.items[1].ordinal = 1;
  problem.measured_at.push_back(1);
  problem.phases[0].cells = {{0, 32e6, 0, 0, 20}, {1, 32e6, 0, 0, 0}};
  const auto constants = calibration(4e9, 1, 0);
  const UnimemModel model(problem, constants);
  EXPECT_NEAR(model.benefit(0, problem.phases[0].cells[0], 1, 0), 0.006, 1e-12);
  EXPECT_NEAR(model.benefit(0, problem.phases[0].cells[1], 1, 0), 0.006, 1e-12);
}

}  // namespace
}  // namespace terrace::model
