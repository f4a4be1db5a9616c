// Tests of the time law and of move costs against times computed by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "model/loads.hpp"
#include "model/moves.hpp"
#include "model/problem.hpp"
#include "random_problem.hpp"

namespace terrace::model {
namespace {

constexpr PlaceId k_fast = 0, k_slow = 1;

// Items of 1 MB; fast: 10 GB/s, 100 ns; slow: 5 GB/s, 400 ns; copies at 5 GB/s: 0.2 ms for an item.
Problem machine_with(std::size_t items, std::uint64_t fast_items) {
  Problem problem;
  problem.places = {{"fast", "hbm", 0, Bytes{fast_items * 1'000'000}, 10e9, 10e9, 100e-9},
                    {"slow", "ddr", 0, Bytes{1'000'000'000}, 5e9, 5e9, 400e-9}};
  problem.copy = {{0, 5e9}, {5e9, 0}};
  problem.homes = {k_slow};
  problem.fastest_first = {{k_fast, k_slow}};
  for (std::uint32_t i = 0; i < items; ++i) {
    problem.objects.push_back({"o" + std::to_string(i), Bytes{1'000'000}, 1});
    problem.items.push_back({Bytes{1'000'000}, 0, i, 0, 1, k_no_place});
    problem.measured_at.push_back(k_slow);
  }
  return problem;
}

ProblemPhase phase(double core, std::vector<ItemCell> cells) {
  ProblemPhase made;
  made.core = Seconds{core};
  made.cells = std::move(cells);
  return made;
}

TEST(PhaseTime, Rows_LongestDetermines) {
  auto problem = machine_with(2, 2);
  problem.phases = {phase(1e-3, {{0, 10e6, 5e6, 2000, 0}, {1, 0, 5e6, 1000, 0}})};
  // Both slow: C + D = 1 + 1.2 ms; B = 20 MB / 5 GB/s = 4 ms.
  EXPECT_NEAR(phase_time(problem, 0, {k_slow, k_slow}).total, 4e-3, 1e-12);
  // The first fast: B_fast = 1.5 ms, B_slow = 1 ms, C + D = 1 + 0.2 + 0.4 ms.
  const auto time = phase_time(problem, 0, {k_fast, k_slow});
  EXPECT_NEAR(time.exposed, 0.6e-3, 1e-12);
  EXPECT_NEAR(time.bandwidth, 1.5e-3, 1e-12);
  EXPECT_NEAR(time.total, 1.6e-3, 1e-12);
  problem.phases[0].unexplained = Seconds{1e-3};
  EXPECT_NEAR(phase_time(problem, 0, {k_fast, k_slow}).total, 2.6e-3, 1e-12);
}

// Item 0 shall be fast in phase 2 only, and phases 0 and 1 do not access it: its copy of 0.2 ms is hidden behind
// them. It is demoted in phase 0, which does not wait.
TEST(Predict, CopyDuringUnrelatedPhases_IsHidden) {
  auto problem = machine_with(1, 1);
  problem.phases = {phase(1e-3, {}), phase(1e-3, {}), phase(1e-3, {{0, 0, 0, 10'000, 0}})};
  const Schedule schedule{{{k_slow}, {k_slow}, {k_fast}}};
  const auto list = derive_moves(problem, schedule);
  ASSERT_EQ(list.moves.size(), 2U);
  const auto prediction = predict(problem, schedule);
  EXPECT_NEAR(prediction.phases[2].total, 2e-3, 1e-12);
  EXPECT_NEAR(prediction.total.value, 4e-3, 1e-12);
  EXPECT_EQ(prediction.moves, 2U);
  EXPECT_EQ(prediction.moved, Bytes{2'000'000});
}

// Phase 1 accesses it at its source, so phase 2 waits for the whole copy.
TEST(Predict, CopyThatCannotBeHidden_IsWaitedFor) {
  // The copy of 0.2 ms runs concurrently with phases 0 and 1, which use the item at its source, for half of that
  // time.
  auto problem = machine_with(1, 1);
  const auto core = 0.05e-3 - problem.places[k_slow].latency;
  problem.phases = {phase(core, {{0, 0, 0, 1, 0}}), phase(core, {{0, 0, 0, 1, 0}}),
                    phase(1e-3, {{0, 0, 0, 10'000, 0}})};
  for (auto& phase : problem.phases) phase.measured = Seconds{0.05e-3};
  problem.cyclic = false;
  const Schedule schedule{{{k_slow}, {k_slow}, {k_fast}}};
  const auto prediction = predict(problem, schedule);
  EXPECT_NEAR(prediction.phases[2].waiting, 0.1e-3, 1e-12);
  EXPECT_NEAR(prediction.phases[2].total, 2.1e-3, 1e-12);
}

// A copy of 5 items takes 1 ms at full speed. The concurrent phase is bound by the slow memory's bandwidth, so
// each gets half: after 2 ms the copy is done and 1 of the phase's 2 ms has passed; 3 ms in total.
TEST(Predict, ContendedMemory_IsSharedWithCopies) {
  auto problem = machine_with(2, 6);
  problem.items[0].size = Bytes{5'000'000};
  problem.phases = {phase(0, {{1, 10e6, 0, 0, 0}}), phase(1e-3, {{0, 0, 0, 10, 0}})};
  // The demotion after phase 1 would compete as well; use a run without it.
  problem.cyclic = false;
  const Schedule schedule{{{k_slow, k_slow}, {k_fast, k_slow}}};
  auto list = derive_moves(problem, schedule);
  ASSERT_EQ(list.moves.size(), 1U);
  EXPECT_EQ(list.moves[0].ask, 0U);
  EXPECT_EQ(list.moves[0].need, 1U);
  const auto prediction = predict(problem, schedule);
  EXPECT_NEAR(prediction.phases[0].total, 3e-3, 1e-12);
  EXPECT_EQ(prediction.phases[1].waiting, 0);
}

// Repeats it with a copy share of a fifth: at the phase's end after 2.5 ms half of the copy is left, and is waited
// for at full speed.
TEST(Predict, CopyShare_LimitsCopies) {
  auto problem = machine_with(2, 6);
  problem.items[0].size = Bytes{5'000'000};
  problem.phases = {phase(0, {{1, 10e6, 0, 0, 0}}), phase(1e-3, {{0, 0, 0, 10, 0}})};
  problem.cyclic = false;
  const auto prediction = predict(problem, {{{k_slow, k_slow}, {k_fast, k_slow}}, 0.2});
  EXPECT_NEAR(prediction.phases[0].total, 2.5e-3, 1e-12);
  EXPECT_NEAR(prediction.phases[1].waiting, 0.5e-3, 1e-12);
}

// A phase that needs half of the slow memory leaves the other half to copies, whatever their minimum share.
TEST(Predict, CopyShare_UnusedBandwidth_GoesToCopies) {
  auto problem = machine_with(2, 6);
  problem.items[0].size = Bytes{5'000'000};
  problem.phases = {phase(2e-3, {{1, 5e6, 0, 0, 0}}), phase(1e-3, {{0, 0, 0, 10, 0}})};
  problem.cyclic = false;
  const auto prediction = predict(problem, {{{k_slow, k_slow}, {k_fast, k_slow}}, 0.1});
  EXPECT_NEAR(prediction.phases[0].total, 2e-3, 1e-12);
  EXPECT_NEAR(prediction.phases[0].copies, 2e-3, 1e-12);
  EXPECT_EQ(prediction.phases[1].waiting, 0);
}

// An item with a pending demotion is used at its source: in phase 1 it is served from fast memory until it has
// moved.
TEST(Predict, PendingDemotion_IsServedFromSource) {
  auto problem = machine_with(1, 1);
  problem.phases = {phase(1e-3, {{0, 0, 0, 1, 0}}), phase(0, {{0, 4e6, 0, 0, 0}}), phase(1e-3, {})};
  const Schedule schedule{{{k_fast}, {k_slow}, {k_slow}}};
  const auto prediction = predict(problem, schedule);
  // From fast memory alone the phase takes 0.4 ms; with the copy, which takes 5 of its 10 GB/s, it runs at 5 GB/s:
  // after 0.2 ms the item has moved and 1 of its 4 MB is read.
  EXPECT_NEAR(prediction.phases[1].total, 0.2e-3 + 3e6 / 5e9, 1e-12);
}

// The copy of 0.2 ms runs concurrently with phase 0, which uses the item for 1 ms.
struct ItemInFlightTest : ::testing::Test {
  [[nodiscard]] double first_phase(double latencies, double streamed) {
    problem.phases = {phase(1e-3 - latencies * 400e-9, {{0, 0, 0, latencies, 0}}), phase(0, {{0, 0, 0, 1, 0}})};
    problem.phases[0].cells[0].streamed_exposure = streamed;
    problem.cyclic = false;
    return predict(problem, {{{k_slow}, {k_fast}}}).phases[0].total;
  }
  Problem problem = machine_with(1, 1);
};

TEST_F(ItemInFlightTest, Default_IsServedFromSource) { EXPECT_NEAR(first_phase(1000, 0), 1e-3, 1e-12); }

TEST_F(ItemInFlightTest, TrappingCopier_IsWaitedFor) {
  problem.touch_waits = true;
  EXPECT_NEAR(first_phase(1000, 0), 1.2e-3, 1e-12);  // the item is in use all the time
  // One latency at a random time of 1 ms: outside the copy with probability exp(-0.2).
  EXPECT_NEAR(first_phase(1, 0), 1e-3 + 0.2e-3 * (1 - std::exp(-0.2)), 1e-12);
}

TEST_F(ItemInFlightTest, Stream_DoesNotWait) {
  problem.touch_waits = true;
  EXPECT_NEAR(first_phase(1000, 1000), 1e-3, 1e-12);
}

// Capacity for one item: the eviction precedes the promotion in every phase's list.
TEST(Moves, FullPlace_EvictionsPrecedePromotions) {
  auto problem = machine_with(2, 1);
  problem.phases = {phase(1e-3, {{0, 1e6, 0, 1, 0}}), phase(1e-3, {{1, 1e6, 0, 1, 0}})};
  const Schedule schedule{{{k_fast, k_slow}, {k_slow, k_fast}}};
  const auto list = derive_moves(problem, schedule);
  ASSERT_TRUE(list.feasible);
  ASSERT_EQ(list.moves.size(), 4U);
  for (std::size_t m = 0; m < 4; m += 2) {
    EXPECT_EQ(list.moves[m].to, k_slow);
    EXPECT_FALSE(list.moves[m].awaited);
    EXPECT_EQ(list.moves[m + 1].to, k_fast);
    EXPECT_TRUE(list.moves[m + 1].awaited);
    EXPECT_EQ(list.moves[m].ask, list.moves[m + 1].ask);
  }
}

// Capacity for three, full: item 0 is promoted for this phase, 4 for the next one. 1, 2 and 3 are evicted, and
// this phase uses 3 on its target.
TEST(Moves, EvictionsInUse_FollowNeededPromotions) {
  auto problem = machine_with(5, 3);
  problem.cyclic = false;
  const auto used = [](std::uint32_t item) { return ItemCell{item, 1e6, 0, 1, 0}; };
  problem.phases = {phase(1e-3, {used(1), used(2), used(3)}), phase(1e-3, {used(0), used(3)}),
                    phase(1e-3, {used(0), used(4)})};
  const auto list = derive_moves(problem, {{{k_slow, k_fast, k_fast, k_fast, k_slow},
                                            {k_fast, k_slow, k_slow, k_slow, k_slow},
                                            {k_fast, k_slow, k_slow, k_slow, k_fast}}});
  std::vector<std::uint32_t> order;
  for (const auto& move : list.moves) {
    EXPECT_EQ(move.ask, 1U);
    order.push_back(move.item);
  }
  EXPECT_EQ(order, (std::vector<std::uint32_t>{1, 0, 3, 4, 2}));
}

// Two items exchange between two full memories: one of them stops on the default place.
TEST(Moves, CyclicExchange_StopsOnDefaultPlace) {
  auto problem = machine_with(2, 1);
  problem.places.insert(problem.places.begin() + 1, {"middle", "mid", 0, Bytes{1'000'000}, 7e9, 7e9, 200e-9});
  problem.homes = {2};
  problem.fastest_first = {{0, 1, 2}};
  problem.measured_at = {2, 2};
  problem.copy = {{0, 5e9, 5e9}, {5e9, 0, 5e9}, {5e9, 5e9, 0}};
  problem.phases = {phase(1e-3, {{0, 1e6, 0, 1, 0}, {1, 1e6, 0, 1, 0}}),
                    phase(1e-3, {{0, 1e6, 0, 1, 0}, {1, 1e6, 0, 1, 0}})};
  const auto list = derive_moves(problem, {{{0, 1}, {1, 0}}});
  EXPECT_TRUE(list.feasible);
  ASSERT_EQ(list.moves.size(), 6U);  // three for each of two exchanges
  EXPECT_EQ(list.moves[0].to, 2);
}

TEST(Moves, NoFeasibleOrder_IsReported) {
  auto problem = machine_with(2, 1);
  problem.places[1].budget = Bytes{1'000'000};
  problem.phases = {phase(1e-3, {{0, 1e6, 0, 1, 0}, {1, 1e6, 0, 1, 0}}),
                    phase(1e-3, {{0, 1e6, 0, 1, 0}, {1, 1e6, 0, 1, 0}})};
  EXPECT_FALSE(derive_moves(problem, {{{0, 1}, {1, 0}}}).feasible);
}

// Conservation: copies do not take longer than the iteration, and no phase is shorter than its rows.
TEST(Predict, RandomSchedules_RowsHold) {
  std::mt19937 random(21);
  for (int n = 0; n < 300; ++n) {
    const auto problem =
        testing::random_problem(random, {.kinds = 2 + static_cast<std::size_t>(n) % 3, .phases = 5});
    auto schedule = testing::random_schedule(random, problem);
    if (n % 2 == 1) schedule.min_copy_share = testing::uniform(random, 0.01, 0.5);
    const auto list = derive_moves(problem, schedule);
    if (!list.feasible) continue;
    const auto prediction = predict(problem, schedule);
    double copying = 0;
    for (const auto& move : list.moves) copying += move.awaited ? move.seconds : 0;
    // Until it has moved, an item may be served from its source.
    std::vector<std::vector<PlaceId>> left(problem.items.size());
    for (const auto& move : list.moves)
      if (!move.awaited) left[move.item].push_back(move.from);
    EXPECT_LE(copying, prediction.total.value * (1 + 1e-9));
    for (std::size_t k = 0; k < problem.phases.size(); ++k) {
      const auto& time = prediction.phases[k];
      EXPECT_GE(time.total * (1 + 1e-12), time.core + time.exposed);
      double exposed = 0;
      bool as_scheduled = true;
      for (const auto& cell : problem.phases[k].cells) {
        const auto scheduled = exposed_time(cell, problem.places[schedule.phases[k][cell.item]]);
        auto least = scheduled;
        for (const auto place : left[cell.item])
          least = std::min(least, exposed_time(cell, problem.places[place]));
        exposed += least;
        as_scheduled = as_scheduled && left[cell.item].empty();
      }
      EXPECT_GE(time.total * (1 + 1e-12), problem.phases[k].core.value + exposed);
      if (as_scheduled) {
        EXPECT_GE(time.total * (1 + 1e-12), phase_time(problem, k, schedule.phases[k]).total);
      }
      EXPECT_GE(time.total * (1 + 1e-12), time.bandwidth);
      EXPECT_GE(time.total * (1 + 1e-12), time.copies);
    }
  }
}

}  // namespace
}  // namespace terrace::model
