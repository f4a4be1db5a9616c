// Tests the calibration against closed forms of STREAM and a pointer chase, and its encoding.
#include "sim/engine/calibrate.hpp"

#include <gtest/gtest.h>

#include "world.hpp"

namespace terrace::sim {
namespace {

// With a core that never limits, STREAM takes exactly what eq. 2 predicts.
TEST(Calibration, CoreNeverLimits_ConstantsAreOne) {
  const auto calibration = measure_calibration(
      test_machine({.bandwidth = 0.5, .latency = 4, .instruction_ns = 0.0025, .prefetch_mlp = 200}), 0, 1);
  ASSERT_EQ(calibration.places.size(), 2u);
  EXPECT_NEAR(calibration.places[1].cf_bandwidth, 1, 0.02);
  EXPECT_NEAR(calibration.places[1].cf_latency, 1, 0.02);
  EXPECT_NEAR(calibration.places[0].cf_latency, 1, 0.02) << "the fastest place: against itself";
}

// Eq. 1 divides by the share of time with accesses: D / (C + D) of triad and copy together.
TEST(Calibration, Peak_IsEquationOneOfStream) {
  const MachineChoice choice{.bandwidth = 0.25, .instruction_ns = 0.0625, .prefetch_mlp = 20};
  const auto calibration = measure_calibration(test_machine(choice), 0, 1);
  const double core = (24 + 16) * 4 * 0.0625e-9;
  const double exposed = (3 + 2) * 86e-9 / 20;
  const double time = (4 + 3) * 64 / 4e9;  // bandwidth-bound: more than core + exposed
  ASSERT_GT(time, core + exposed);
  const double expected = (4 + 3) * 64 / (exposed / (core + exposed) * time);
  EXPECT_NEAR(calibration.places[1].peak_bandwidth, expected, 0.02 * expected);
}

// A slow core hides what bandwidth could gain: the constant is the remaining share of eq. 2's gain.
TEST(Calibration, SlowCore_ReducesTheBandwidthConstant) {
  const auto calibration = measure_calibration(test_machine({.bandwidth = 0.5, .instruction_ns = 0.125}), 0, 1);
  const double stalled = 40 * 4 * 0.125e-9 + 5 * 86e-9 / 20;
  const double slow = 7 * 64 / 8e9, fast = 7 * 64 / 16e9;
  ASSERT_GT(stalled, fast);
  ASSERT_LT(stalled, slow);
  EXPECT_NEAR(calibration.places[1].cf_bandwidth, (slow - stalled) / (slow - fast), 0.02);
}

// Sixteen cores that chase on their shares make sixteen hops per latency.
TEST(Calibration, SeveralCores_LatencyConstantIsOneOverTheirNumber) {
  const auto calibration = measure_calibration(test_machine({.bandwidth = 1, .latency = 4}), 0, 16);
  EXPECT_NEAR(calibration.places[1].cf_latency, 1.0 / 16, 0.02 / 16);
}

TEST(Calibration, EqualBandwidths_FallBackToTheMeasuredTime) {
  const auto calibration =
      measure_calibration(test_machine({.bandwidth = 1, .latency = 4, .instruction_ns = 0.0025}), 0, 1);
  const double time = 40 * 4 * 0.0025e-9 + 5 * 4 * 86e-9 / 20;
  EXPECT_NEAR(calibration.places[1].cf_bandwidth, time / (7 * 64 / 16e9), 0.03);
}

TEST(Calibration, Repeated_IsTheSameToTheLastDigit) {
  const auto machine = test_machine({.third = true});
  const auto once = measure_calibration(machine, 0, 3);
  const auto again = measure_calibration(machine, 0, 3);
  for (std::size_t i = 0; i < once.places.size(); ++i) {
    EXPECT_EQ(once.places[i].peak_bandwidth, again.places[i].peak_bandwidth);
    EXPECT_EQ(once.places[i].cf_bandwidth, again.places[i].cf_bandwidth);
    EXPECT_EQ(once.places[i].cf_latency, again.places[i].cf_latency);
  }
}

TEST(Calibration, BlobRoundTrip_IsUnchanged) {
  auto calibration = measure_calibration(test_machine({.third = true}), 0, 1);
  calibration.latency_sensitive = 0.125;
  BlobWriter out;
  calibration.to_blob(out);
  BlobReader in(out.bytes());
  const auto read = model::Calibration::from_blob(in);
  EXPECT_TRUE(in.at_end());
  ASSERT_EQ(read.places.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read.places[i].peak_bandwidth, calibration.places[i].peak_bandwidth);
    EXPECT_EQ(read.places[i].cf_bandwidth, calibration.places[i].cf_bandwidth);
    EXPECT_EQ(read.places[i].cf_latency, calibration.places[i].cf_latency);
  }
  EXPECT_EQ(read.bandwidth_sensitive, calibration.bandwidth_sensitive);
  EXPECT_EQ(read.latency_sensitive, 0.125);
  BlobReader torn(out.bytes().first(out.bytes().size() - 1));
  EXPECT_THROW(model::Calibration::from_blob(torn), Error);
}

}  // namespace
}  // namespace terrace::sim
