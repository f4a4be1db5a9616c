// Tests gain curves against the time law of placements in which the best items are in fast memory.
#include "strategy/ranks/gain_curve.hpp"

#include <gtest/gtest.h>

#include "model/loads.hpp"
#include "two_places.hpp"

namespace terrace::strategy {
namespace {

constexpr std::uint64_t k_item = 4096;
constexpr Bytes k_all{1 << 30};

// Returns two phases: the first one reads the items 0 and 1, the second one, in two segments, the items 2 and 3.
model::Problem two_phases() {
  model::Problem problem;
  problem.places = {{"fast", "hbm", 0, Bytes{1 << 20}, 10e9, 10e9, 100e-9},
                    {"slow", "ddr", 0, Bytes{1 << 30}, 10e9, 10e9, 400e-9}};
  problem.homes = {k_slow};
  problem.fastest_first = {{k_fast, k_slow}};
  for (std::uint32_t i = 0; i < 4; ++i)
    problem.items.push_back({.size = Bytes{k_item}, .object = 0, .ordinal = i});
  problem.measured_at.assign(4, k_slow);
  const auto phase = [](const char* name, double measured, std::vector<model::ItemCell> cells) {
    model::ProblemPhase made;
    made.name = name;
    made.core = Seconds{0.1};
    made.measured = Seconds{measured};
    made.cells = std::move(cells);
    return made;
  };
  // An exposure of 1e6 latencies takes 0.4 s in slow memory and 0.1 s in fast memory.
  problem.phases = {phase("a", 1.5, {{.item = 0, .exposure = 1.1e6}, {.item = 1, .exposure = 2e6}}),
                    phase("b", 0.6, {{.item = 2, .exposure = 1e6}}),
                    phase("b@100", 0.4, {{.item = 3, .exposure = 0.5e6}})};
  return problem;
}

// Returns one phase that reads 1,000 items, each one more than the item before it.
model::Problem many_items() {
  auto problem = two_phases();
  problem.items.clear();
  problem.phases.resize(1);
  problem.phases[0].cells.clear();
  for (std::uint32_t i = 0; i < 1000; ++i) {
    problem.items.push_back({.size = Bytes{k_item}, .object = 0, .ordinal = i});
    problem.phases[0].cells.push_back({.item = i, .exposure = 1000.0 * (i + 1)});
  }
  problem.measured_at.assign(1000, k_slow);
  return problem;
}

TEST(GainCurve, Items_AreAddedInOrderOfTheirGain) {
  const auto curve = gain_curve(two_phases(), k_fast, k_all, {});
  ASSERT_EQ(curve.num_phases, 2U) << "segments belong to their phase";
  ASSERT_EQ(curve.num_steps, 4U);
  for (std::size_t step = 0; step <= 4; ++step) EXPECT_EQ(curve.bytes[step], step * k_item);
  // Item 1 gains 0.6 s, item 0 0.33 s, item 2 0.3 s, item 3 0.15 s.
  const std::vector<std::pair<double, double>> times{
      {1.5, 1.0}, {0.9, 1.0}, {0.57, 1.0}, {0.57, 0.7}, {0.57, 0.55}};
  for (std::size_t step = 0; step <= 4; ++step) {
    EXPECT_NEAR(curve.time[step][0], times[step].first, 1e-6) << step;
    EXPECT_NEAR(curve.time[step][1], times[step].second, 1e-6) << step;
  }
}

TEST(GainCurve, TimeInMpi_IsNotComputation) {
  const auto curve = gain_curve(two_phases(), k_fast, k_all, std::vector<Seconds>{Seconds{0.25}, Seconds{5}});
  EXPECT_NEAR(curve.time[0][0], 1.25, 1e-6);
  EXPECT_EQ(curve.time[0][1], 0) << "never negative";
}

TEST(GainCurve, DataThatWasInFastMemory_CountsFromHome) {
  auto problem = two_phases();
  problem.measured_at[1] = k_fast;
  problem.phases[0].measured = Seconds{0.9};
  const auto curve = gain_curve(problem, k_fast, k_all, {});
  EXPECT_NEAR(curve.time[0][0], 1.5, 1e-6) << "with all data in slow memory";
  EXPECT_NEAR(curve.time[4][0], 0.57, 1e-6);
}

TEST(GainCurve, PinnedItems_StayInTheirPlace) {
  auto problem = two_phases();
  problem.items[1].pinned = k_slow;
  const auto curve = gain_curve(problem, k_fast, k_all, {});
  EXPECT_EQ(curve.num_steps, 3U);
  EXPECT_NEAR(curve.time[3][0], 1.17, 1e-6);
}

TEST(GainCurve, BudgetSmallerThanData_StepsDivideTheBudget) {
  auto problem = many_items();
  const auto curve = gain_curve(problem, k_fast, Bytes{32 * k_item}, {});
  ASSERT_EQ(curve.num_steps, GainCurve::k_max_steps);
  for (std::size_t step = 0; step <= curve.num_steps; ++step) EXPECT_EQ(curve.bytes[step], 2 * step * k_item);
  // An item that does not fit is skipped.
  problem.items[999].size = Bytes{33 * k_item};
  EXPECT_EQ(gain_curve(problem, k_fast, Bytes{32 * k_item}, {}).bytes[curve.num_steps], 32 * k_item);
  EXPECT_EQ(gain_curve(problem, k_fast, Bytes{k_item - 1}, {}).num_steps, 0U);
}

TEST(GainCurve, ManyItems_AreGroupedToSixteenSteps) {
  auto problem = many_items();
  problem.phases[0].measured = Seconds{model::load_of(problem, 0, problem.measured_at).time()};
  const auto curve = gain_curve(problem, k_fast, k_all, {});
  ASSERT_EQ(curve.num_steps, GainCurve::k_max_steps);
  EXPECT_EQ(curve.bytes[curve.num_steps], 1000 * k_item);
  const auto all_fast = model::load_of(problem, 0, model::Placement(1000, k_fast)).time();
  EXPECT_NEAR(curve.iteration_time(curve.num_steps), all_fast, 1e-5 * all_fast);
}

TEST(GainCurve, MorePhasesThanFit_CountAsOne) {
  auto problem = two_phases();
  const auto phase = problem.phases[0];
  problem.phases.assign(GainCurve::k_max_phases + 1, phase);
  const auto curve = gain_curve(problem, k_fast, k_all, {});
  EXPECT_EQ(curve.num_phases, 1U);
  EXPECT_NEAR(curve.time[0][0], 1.5 * (GainCurve::k_max_phases + 1), 1e-3);
}

TEST(GainCurve, PhaseNamesDiffer_HashesDiffer) {
  auto other = two_phases();
  EXPECT_EQ(gain_curve(two_phases(), k_fast, k_all, {}).phase_names,
            gain_curve(other, k_fast, k_all, {}).phase_names);
  other.phases[0].name = "c";
  EXPECT_NE(gain_curve(two_phases(), k_fast, k_all, {}).phase_names,
            gain_curve(other, k_fast, k_all, {}).phase_names);
}

}  // namespace
}  // namespace terrace::strategy
