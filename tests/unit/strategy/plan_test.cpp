// Tests plans: their serialization, their construction from decisions, and their expansion for a running program.
#include "core/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "../machine/example.hpp"
#include "../model/random_problem.hpp"
#include "core/error.hpp"
#include "core/segment_name.hpp"
#include "strategy/plan_expansion.hpp"
#include "strategy/planner.hpp"

namespace terrace::strategy {
namespace {

Plan sample() {
  Plan plan;
  plan.planner = "auto";
  plan.machine = "example";
  plan.loop = "main";
  plan.budget = {"hbm=1GiB"};
  plan.phases = {"x", "x@10", "y"};
  plan.rate_limits = {0.25, 1, 0.5};
  plan.repeats = {{1, 0}};
  plan.times = {Seconds{1}, Seconds{3}, Seconds{0}};
  plan.sentinels = {{1, 0, 5}};
  plan.objects = {{"a", Bytes{64 << 20}, 16, false, {{{0, 4}, "hbm", Seconds{4e-3}}, {{8, 1}, "ddr"}}},
                  {"work_*", Bytes{0}, 1, true, {{{0, 1}, "hbm"}}}};
  plan.moves = {{0, {4, 2}, "hbm", 1, 2, true, Seconds{2e-3}, Seconds{1e-4}},
                {0, {0, 16}, "cxl", 2, 5, false, Seconds{-1e-3}, Seconds{0}}};
  plan.predicted = Seconds{1.5};
  plan.predicted_slow = Seconds{2};
  plan.lower_bound = Seconds{1.4};
  plan.gap = 0.01;
  return plan;
}

std::vector<std::byte> bytes_of(const Plan& plan) {
  BlobWriter out;
  plan.to_blob(out);
  return {out.bytes().begin(), out.bytes().end()};
}

TEST(PlanBlob, AnyPlan_RoundTrips) {
  const auto bytes = bytes_of(sample());
  BlobReader in(bytes);
  const auto plan = Plan::from_blob(in);
  EXPECT_TRUE(in.at_end());
  EXPECT_EQ(bytes_of(plan), bytes);
  EXPECT_EQ(plan.objects[0].parts[1].place, "ddr");
  EXPECT_EQ(plan.objects[0].parts[0].benefit.value, 4e-3);
  EXPECT_EQ(plan.moves[1].need, 5U);
  EXPECT_EQ(plan.rate_limits, sample().rate_limits);
  EXPECT_EQ(plan.repeats, sample().repeats);
}

TEST(PlanBlob, UnknownSentinelObject_IsRejected) {
  for (const PlanSentinel& sentinel : {PlanSentinel{3, 0, 0}, PlanSentinel{1, 2, 0}, PlanSentinel{1, 0, 16}}) {
    auto plan = sample();
    plan.sentinels = {sentinel};
    const auto bytes = bytes_of(plan);
    BlobReader in(bytes);
    EXPECT_THROW(Plan::from_blob(in), Error);
  }
}

// Divides by predicted time if there is one; else by accesses, of which the last segment counts as many as the
// others.
TEST(Plan, Segments_ShareOfTimeBeforeThem) {
  auto plan = sample();
  EXPECT_EQ(time_of_phase(plan, 0), Seconds{4});
  EXPECT_EQ(share_of_time(plan, 0, 1), 0.25);
  plan.times.clear();
  EXPECT_EQ(time_of_phase(plan, 0), Seconds{0});
  EXPECT_EQ(share_of_time(plan, 0, 1), 0.5);
  plan.lengths = {40, 0, 0};
  EXPECT_EQ(share_of_time(plan, 0, 1), 0.25);
}

// A sentinel is a chunk that the phase does not touch before its segment.
TEST(Plan, Segments_SentinelIsFirstTouchedThere) {
  std::mt19937 random(9);
  std::size_t named = 0;
  for (int n = 0; n < 50; ++n) {
    auto problem = model::testing::random_problem(random, {.kinds = 2, .domains = 1, .objects = 8, .phases = 6});
    for (std::size_t k = 1; k < 6; ++k) problem.phases[k].name = segment_name(problem.phases[0].name, 100 * k);
    Decision decision;
    decision.schedule = model::testing::random_schedule(random, problem);
    decision.prediction = model::predict(problem, decision.schedule);
    const auto plan = make_plan(problem, decision, "random");
    named += plan.sentinels.size();
    for (const auto& sentinel : plan.sentinels) {
      EXPECT_TRUE(
          std::ranges::any_of(plan.moves, [&](const PlanMove& move) { return move.ask == sentinel.segment; }));
      const auto touched = [&](std::uint32_t k) {
        return std::ranges::any_of(problem.phases[k].cells, [&](const model::ItemCell& cell) {
          const auto& item = problem.items[cell.item];
          return item.object == sentinel.object && sentinel.chunk >= item.ordinal &&
                 sentinel.chunk < item.ordinal + item.chunks;
        });
      };
      EXPECT_TRUE(touched(sentinel.segment));
      for (std::uint32_t k = 0; k < sentinel.segment; ++k)
        EXPECT_FALSE(touched(k)) << sentinel.segment << " " << k;
    }
  }
  EXPECT_GT(named, 10U);
}

TEST(PlanBlob, RepeatAcrossPhases_IsRejected) {
  auto plan = sample();
  plan.repeats = {{2, 1}};
  const auto bytes = bytes_of(plan);
  BlobReader in(bytes);
  EXPECT_THROW(Plan::from_blob(in), Error);
}

TEST(PlanBlob, AnyTruncation_IsRejected) {
  const auto bytes = bytes_of(sample());
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    BlobReader in(std::span<const std::byte>(bytes.data(), n));
    EXPECT_THROW(Plan::from_blob(in), Error) << n;
  }
}

// For random decisions, executing the plan gives the placement of the schedule in every phase that uses it.
TEST(MakePlan, Schedule_BecomesPlacesAndMoves) {
  std::mt19937 random(8);
  const auto machine = machine::Machine(machine::example_parts());
  for (int n = 0; n < 200; ++n) {
    auto problem = model::testing::random_problem(random, {.kinds = 2, .objects = 4, .phases = 5, .touched = 0.4});
    problem.places[0].name = "hbm0";  // the example's places, so that names mean something
    problem.places[0].kind = "hbm";
    problem.places[1].name = "cxl0";
    problem.places[1].kind = "cxl";
    Decision decision;
    decision.schedule = model::testing::random_schedule(random, problem);
    decision.prediction = model::predict(problem, decision.schedule);
    const auto plan = make_plan(problem, decision, "random");
    EXPECT_EQ(plan.predicted.value, decision.prediction.total.value);
    EXPECT_LE(plan.lower_bound.value, plan.predicted.value * (1 + 1e-12));

    std::vector<RunningObject> objects;
    for (const auto& object : problem.objects) objects.push_back({object.name, object.size, object.chunks, 0});
    const auto expanded = expand_plan(plan, machine, objects);
    EXPECT_TRUE(expanded.notes.empty());
    const auto local = [&](PlaceId place) { return machine.place(place).kind == "hbm" ? 0 : 1; };
    std::vector<std::vector<int>> now;
    for (const auto& object : expanded.objects) {
      now.emplace_back();
      for (const auto place : object.initial) now.back().push_back(local(place));
    }
    for (int iteration = 0; iteration < 2; ++iteration) {
      for (std::uint32_t k = 0; k < problem.phases.size(); ++k) {
        for (const auto& move : expanded.moves) {
          if (move.ask == k) now[move.object][move.chunk] = local(move.to);
        }
        for (const auto& cell : problem.phases[k].cells) {
          const auto& item = problem.items[cell.item];
          // In that place, or in faster memory.
          ASSERT_LE(now[item.object][item.ordinal], decision.schedule.phases[k][cell.item]) << "case " << n;
        }
      }
    }
  }
}

// One chunk, a fast place with space for it, and two phases that do not use it yet.
model::Problem one_chunk() {
  model::Problem problem;
  problem.places = {{"fast", "hbm", 0, Bytes{1'000'000}, 10e9, 10e9, 100e-9},
                    {"slow", "ddr", 0, Bytes{1'000'000'000}, 5e9, 5e9, 400e-9}};
  problem.copy = {{0, 5e9}, {5e9, 0}};
  problem.homes = {1};
  problem.fastest_first = {{0, 1}};
  problem.objects = {{"a", Bytes{1'000'000}, 1}};
  problem.items = {{Bytes{1'000'000}, 0, 0, 0, 1, k_no_place}};
  problem.measured_at = {1};
  problem.phases.resize(2);
  return problem;
}

// Benefit: the time that phases would take longer without the move. Cost: the time that the phase waits for it.
TEST(MakePlan, Moves_HaveBenefitAndCost) {
  auto problem = one_chunk();
  problem.phases[0].core = problem.phases[1].core = Seconds{1e-3};
  problem.phases[0].cells = {{0, 0, 0, 1, 0}};
  problem.phases[1].cells = {{0, 0, 0, 10'000, 0}};
  Decision decision;
  decision.schedule = {{{1}, {0}}};
  decision.prediction = model::predict(problem, decision.schedule);
  const auto plan = make_plan(problem, decision, "test");
  ASSERT_EQ(plan.moves.size(), 2U);
  EXPECT_EQ(plan.moves[1].to, "hbm");
  EXPECT_NEAR(plan.moves[1].benefit.value, 10'000 * 300e-9, 1e-12);
  EXPECT_NEAR(plan.moves[1].cost.value, 0.2e-3, 1e-12);
  ASSERT_EQ(plan.budget.size(), 1U);
  EXPECT_EQ(plan.budget[0], "hbm=1MB");
}

// Static data has its benefit in its part: the time that phases would take longer with it at home.
TEST(MakePlan, StaticPlacement_HasBenefit) {
  auto problem = one_chunk();
  problem.phases[0].cells = {{0, 0, 0, 2'000, 0}};
  problem.phases[1].cells = {{0, 0, 0, 10'000, 0}};
  Decision decision;
  decision.schedule = {{{0}, {0}}};
  decision.prediction = model::predict(problem, decision.schedule);
  const auto plan = make_plan(problem, decision, "test");
  EXPECT_TRUE(plan.moves.empty());
  ASSERT_EQ(plan.objects[0].parts.size(), 1U);
  EXPECT_NEAR(plan.objects[0].parts[0].benefit.value, 12'000 * 300e-9, 1e-12);
}

// 16 planned chunks: 0 to 3 in hbm, 8 in ddr, the rest at home (cxl). A chunk goes where its middle is; the middle
// of the fifth of 8 chunks is the border of planned chunks 8 and 9, and belongs to 9.
TEST(Expansion, OtherChunkCount_ScalesSpans) {
  const auto machine = machine::Machine(machine::example_parts());
  std::vector<std::string> notes;
  auto expanded = expand_object(sample(), machine, {"a", Bytes{64 << 20}, 8, 0}, 0, notes);
  EXPECT_TRUE(expanded.is_planned);
  EXPECT_EQ(expanded.initial, (std::vector<PlaceId>{0, 0, 2, 2, 2, 2, 2, 2}));
  EXPECT_TRUE(notes.empty());
  expanded = expand_object(sample(), machine, {"a", Bytes{64 << 20}, 32, 0}, 0, notes);
  EXPECT_EQ(std::count(expanded.initial.begin(), expanded.initial.end(), 0), 8);
  EXPECT_EQ(std::count(expanded.initial.begin(), expanded.initial.end(), 1), 2);
  double worth = 0;
  for (const auto chunk : expanded.worth) worth += chunk.value;
  EXPECT_NEAR(worth, 4e-3 + 2e-3 - 1e-3, 1e-15);
  EXPECT_EQ(expanded.moves.size(), 4U + 32U);
  double benefit = 0;
  for (const auto& move : expanded.moves) benefit += move.benefit.value;
  EXPECT_NEAR(benefit, 2e-3 - 1e-3, 1e-15);
}

TEST(Expansion, KindName_IsResolvedInObjectsDomain) {
  const auto machine = machine::Machine(machine::example_parts());
  std::vector<std::string> notes;
  const auto expanded = expand_object(sample(), machine, {"work_1", Bytes{4096}, 1, 1}, 0, notes);
  EXPECT_EQ(expanded.initial, std::vector<PlaceId>{3});
  EXPECT_TRUE(expanded.pinned);
  EXPECT_TRUE(expanded.moves.empty());
}

// Domain 1 has no cxl; the object is twice as large; "work_*" matches nothing.
TEST(Expansion, Mismatches_AreNoted) {
  const auto machine = machine::Machine(machine::example_parts());
  const auto expanded =
      expand_plan(sample(), machine, {{"a", Bytes{128 << 20}, 16, 1}, {"other", Bytes{4096}, 1, 0}});
  EXPECT_FALSE(expanded.objects[1].is_planned);
  EXPECT_EQ(expanded.objects[1].initial, std::vector<PlaceId>{2});
  const auto noted = [&](const char* words) {
    return std::any_of(expanded.notes.begin(), expanded.notes.end(),
                       [&](const std::string& note) { return note.find(words) != std::string::npos; });
  };
  EXPECT_TRUE(noted("planned with 64MiB and has 128MiB"));
  EXPECT_TRUE(noted("should lie in 'cxl'"));
  EXPECT_TRUE(noted("no object 'work_*'"));
}

TEST(FindObject, ExactNameAndPattern_PrefersName) {
  auto plan = sample();
  plan.objects.push_back({"work_2", Bytes{0}, 1, false, {}});
  EXPECT_EQ(find_object(plan, "work_2"), 2U);
  EXPECT_EQ(find_object(plan, "work_3"), 1U);
  EXPECT_EQ(find_object(plan, "nobody"), 3U);
}

}  // namespace
}  // namespace terrace::strategy
