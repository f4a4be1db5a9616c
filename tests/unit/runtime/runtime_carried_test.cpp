// A plan that was made of smaller objects: what it asks for before there is room does not hold up what follows.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "runtime/active_plan.hpp"
#include "runtime_fixture.hpp"

namespace terrace::runtime {
namespace {

// Made of a run whose objects had half the size, with room for one chunk more than here: `cold` comes before `hot`
// makes room for it.
placement::Plan plan_of_a_smaller_run() {
  placement::Plan plan;
  plan.planner = "hand";
  plan.machine = "two";
  plan.loop = "main";
  plan.budget = {"dram=5MiB"};
  plan.phases = {"solve", "output"};
  plan.objects = {{"hot", Bytes{2 * k_mib}, 32, false, {{{0, 32}, "dram"}}},
                  {"cold", Bytes{8 * k_mib}, 128, false, {{{0, 32}, "dram"}}}};
  plan.moves = {{1, {32, 32}, "dram", 0, 1, false, {}, {}},
                {0, {0, 32}, "nvm", 0, 1, false, {}, {}},
                {0, {0, 32}, "dram", 1, 2, true, {}, {}},
                {1, {32, 32}, "nvm", 1, 2, false, {}, {}}};
  return plan;
}

TEST(CarriedPlan, MovesWhatHasRoomWhateverCameBefore) {
  TestRun run({.plan = plan_of_a_smaller_run()});
  run.iterate(4);
  EXPECT_LE(run.most_held(), 5 * k_mib);
  // Nothing waits for what others hold: each move is done in the iteration in which it was asked for.
  const auto phases = run.records<profile::PhaseRecord>();
  std::size_t moved = 0;
  for (const auto& record : run.records<profile::TransfersRecord>())
    for (const auto& transfer : record.transfers) {
      EXPECT_FALSE(transfer.refused);
      moved += transfer.size.value > 0 ? 1 : 0;
      EXPECT_LT(transfer.begun - transfer.asked, phases[1].ended - phases[0].begun);
    }
  EXPECT_GT(moved, 64U);
}

// What never moves leaves the room that what moves needs most of, counted at the new sizes.
TEST(CarriedPlan, KeepsRoomForWhatMoves) {
  auto plan = plan_of_a_smaller_run();
  plan.objects[0].parts = {{{0, 24}, "dram"}};          // `hot` stays: 3 MiB of it at these sizes
  plan.moves = {{1, {0, 16}, "nvm", 0, 1, false, {}, {}},  // 2 MiB of `cold` go and come
                {1, {0, 16}, "dram", 1, 2, true, {}, {}}};
  plan.objects[1].parts = {{{0, 16}, "dram"}};
  const auto machine = two_places();
  memory::ChunkTable chunks;
  std::vector<profile::Object> objects;
  for (const auto& [name, size] : {std::pair{"hot", 4 * k_mib}, std::pair{"cold", 16 * k_mib}}) {
    profile::Object object;
    object.id = static_cast<memory::ObjectId>(objects.size());
    object.name = name;
    object.size = Bytes{size};
    object.chunk_size = Bytes{k_mib / 4};
    object.first_chunk = static_cast<memory::ChunkId>(chunks.size());
    object.chunks = static_cast<std::uint32_t>(size / object.chunk_size.value);
    for (std::uint32_t c = 0; c < object.chunks; ++c) chunks.add(object.id, k_mib / 4, 0, 0, 1);
    objects.push_back(object);
  }
  for (const auto& [fast, stay] : {std::pair{5 * k_mib, 12}, std::pair{4 * k_mib, 8}, std::pair{2 * k_mib, 0}}) {
    ActivePlan active(plan, machine, 0);
    for (const auto& object : objects) active.bind(object);
    const auto misfit = active.fit(objects, chunks, {Bytes{fast}, Bytes{16ULL << 30}}, 1);
    EXPECT_EQ(misfit.has_value(), stay < 12) << fast;
    int staying = 0, moving = 0;
    for (std::uint32_t c = 0; c < 16; ++c) staying += active.initial_place(objects[0], c) == 0 ? 1 : 0;
    for (std::uint32_t c = 0; c < 64; ++c) moving += active.initial_place(objects[1], c) == 0 ? 1 : 0;
    EXPECT_EQ(staying, stay) << fast;
    EXPECT_EQ(moving, 8) << fast;
  }
}

// The planner's own plan follows it, of the first iteration, in which it was obeyed.
TEST(CarriedPlan, IsFollowedByABetterOne) {
  TestRun kept({.plan = plan_of_a_smaller_run()}), bettered({.plan = plan_of_a_smaller_run(), .better_plan = true});
  kept.iterate(6);
  bettered.iterate(6);
  EXPECT_EQ(kept.records<profile::PlanRecord>().size(), 1U);
  const auto plans = bettered.records<profile::PlanRecord>();
  ASSERT_EQ(plans.size(), 2U);
  EXPECT_EQ(plans[0].why, "given by --plan");
  EXPECT_EQ(plans[1].why, "learned in the first iteration, under the plan that was given");
  EXPECT_LE(bettered.most_held(), 5 * k_mib);
  const auto iteration = [](TestRun& run, std::size_t i) {
    const auto phases = run.records<profile::PhaseRecord>();
    return phases.at(2 * i + 1).ended - phases.at(2 * i).begun;
  };
  EXPECT_NEAR(iteration(bettered, 0).value, iteration(kept, 0).value, 0.02 * iteration(kept, 0).value);
  EXPECT_LT(iteration(bettered, 5), 0.9 * iteration(kept, 5));
}

// Of an iteration with other phases it is no more than where data lies at first.
TEST(CarriedPlan, OfOtherPhasesIsLeft) {
  auto plan = plan_of_a_smaller_run();
  plan.phases = {"other", "solve", "output"};
  TestRun run({.plan = plan, .better_plan = true});
  run.iterate(6);
  const auto plans = run.records<profile::PlanRecord>();
  ASSERT_GE(plans.size(), 2U);
  EXPECT_EQ(plans[1].why, "learned in the first iteration");
  EXPECT_LE(run.most_held(), 5 * k_mib);
}

}  // namespace
}  // namespace terrace::runtime
