// Tests the runtime on the simulator with quanta by hand: objects, phases, learning, moving, the journal.
#include "runtime/runtime.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "runtime_fixture.hpp"

namespace terrace::runtime {
namespace {

// The hot object is allocated last, so that first touch does not place it in fast memory.
TEST(RuntimeTest, FirstIterationProfiled_MovesTheHotObject) {
  TestRun run({.planner = "global"});  // makes no moves in later iterations
  const auto late = run.add_late();
  EXPECT_EQ(run.in_fast_memory(late), 0U);
  run.runtime.loop_begin("main");
  for (int i = 0; i < 40; ++i) {  // planning runs concurrently with the first of them
    run.runtime.phase("solve");
    run.sweep(late, 8);
    run.runtime.phase("output");
    run.sweep(run.cold, 1);
  }
  run.runtime.loop_end();
  run.runtime.finish("exit");
  EXPECT_EQ(run.in_fast_memory(late), 4 * k_mib);
  std::map<std::uint32_t, double> time;
  for (const auto& phase : run.records<profile::PhaseRecord>())
    time[phase.iteration] += (phase.ended - phase.begun).value;
  ASSERT_EQ(time.size(), 40U);
  // 32 MiB at 16 GB/s instead of 4, and of 16 MiB as much as fits beside (the last chunks of the budget aside).
  const auto mib = static_cast<double>(k_mib);
  const double slow = (32 + 15) * mib / 4e9 + mib / 16e9;
  EXPECT_NEAR(time[0], slow, 0.01 * slow);
  EXPECT_LE(time[39], 1.02 * (32 * mib / 16e9 + 16 * mib / 4e9));
}

TEST(RuntimeTest, Objects_AreCutIntoAbout64Chunks) {
  TestRun run({.planner = "slow-only", .fast = Bytes{k_mib}});
  const auto chunks_of = [&](std::uint64_t n, std::uint64_t size) {
    const auto id = run.runtime.add_object("o" + std::to_string(n), observe::ObjectKind::heap, TestRun::address(n),
                                           Bytes{size});
    std::vector<std::uint64_t> sizes;
    for (ChunkId chunk = 0; chunk < run.chunks.size(); ++chunk)
      if (run.chunks[chunk].object == id) sizes.push_back(run.chunks[chunk].size);
    EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}), size);
    return sizes;
  };
  EXPECT_EQ(chunks_of(3, 4096).size(), 1U);
  EXPECT_EQ(chunks_of(4, 64 * 16384), std::vector<std::uint64_t>(64, 16384));
  const auto odd = chunks_of(5, 17'801'216);  // 278,144 bytes would be 64 of them
  EXPECT_EQ(odd.front(), 17U * 16384);
  EXPECT_EQ(odd.size(), 64U);
  EXPECT_EQ(chunks_of(6, 200 * k_mib).front(), 4 * k_mib);  // whole huge pages
}

TEST(RuntimeTest, Journal_HasObjectAndTimeOfEachMove) {
  TestRun run;
  run.set_up(Seconds{10});
  run.iterate(40);
  std::vector<profile::Move> moves;
  for (const auto& record : run.records<profile::MovesRecord>())
    moves.insert(moves.end(), record.moves.begin(), record.moves.end());
  std::uint64_t into_fast = 0;
  for (const auto& record : run.records<profile::ObjectRecord>())
    for (const auto place : record.places) into_fast += place == 0 ? record.object.chunk_size.value : 0;
  std::size_t transfers = 0;
  for (const auto& record : run.records<profile::TransfersRecord>())
    for (const auto& transfer : record.transfers) {
      ++transfers;
      EXPECT_FALSE(transfer.refused);
      EXPECT_LE(transfer.asked, transfer.begun);
      EXPECT_LT(transfer.begun, transfer.done);
      // Never faster than the slower of the two places can read or write.
      EXPECT_GE((transfer.done - transfer.begun).value, 0.999 * static_cast<double>(transfer.size.value) / 4e9);
      ASSERT_LT(transfer.move, moves.size());
      EXPECT_EQ(transfer.size, moves[transfer.move].size);
      into_fast += moves[transfer.move].to == 0 ? transfer.size.value : 0;
      into_fast -= transfer.from == 0 ? transfer.size.value : 0;
    }
  // Each move is named once, however often it is made.
  EXPECT_GT(transfers, 0U);
  EXPECT_LE(moves.size(), transfers);
  EXPECT_EQ(into_fast, run.ledger.held(0).value);
  EXPECT_LE(run.ledger.held(0).value, 5 * k_mib);
  const auto plans = run.records<profile::PlanRecord>();
  ASSERT_GE(plans.size(), 1U);  // a plan without moves gains nothing here, and is not adopted
  EXPECT_EQ(plans[0].plan.planner, "auto");
  for (std::size_t p = 1; p < plans.size(); ++p) {
    EXPECT_LT(plans[p].plan.predicted, plans[p - 1].plan.predicted);
    EXPECT_GT(plans[p].at, plans[p - 1].at);
  }
  EXPECT_EQ(run.records<profile::IterationRecord>().size(),
            2U);  // one sample in 200: it takes two for each chunk's
  EXPECT_EQ(run.records<profile::LoopEndRecord>().at(0).iterations, 40U);
}

TEST(RuntimeTest, GivenPlan_IsFollowedAndRecorded) {
  Plan plan;
  plan.planner = "hand";
  plan.budget = {"dram=5MiB"};
  plan.objects.push_back({"hot", Bytes{4 * k_mib}, 4, false, {{{0, 4}, "fast"}}});
  TestRun run({.plan = plan});
  run.iterate(2);
  EXPECT_EQ(run.ledger.held(0).value, 4 * k_mib);
  const auto plans = run.records<profile::PlanRecord>();
  ASSERT_EQ(plans.size(), 1U);
  EXPECT_EQ(plans.front().why, "given by --plan");
  EXPECT_EQ(plans.front().at.value, 0);
  EXPECT_EQ(plans.front().plan.planner, "hand");
  EXPECT_EQ(plans.front().plan.objects.at(0).name, "hot");
}

TEST(RuntimeTest, FirstTouch_FillsTheFastPlaceInOrder) {
  TestRun run({.planner = "first-touch", .fast = Bytes{6 * k_mib}});
  std::uint64_t fast_hot = 0;
  std::uint64_t fast_cold = 0;
  for (ChunkId chunk = 0; chunk < run.chunks.size(); ++chunk)
    if (run.chunks[chunk].place.load() == 0)
      (run.chunks[chunk].object == run.hot ? fast_hot : fast_cold) += run.chunks[chunk].size;
  EXPECT_EQ(fast_hot, 4 * k_mib);
  EXPECT_EQ(fast_cold, 2 * k_mib);
}

TEST(RuntimeTest, FreedObjects_ReleaseTheirCapacity) {
  TestRun run({.planner = "first-touch", .fast = Bytes{6 * k_mib}});
  EXPECT_EQ(run.ledger.held(0).value, 6 * k_mib);
  run.runtime.remove_object(run.hot);
  EXPECT_EQ(run.ledger.held(0).value, 2 * k_mib);
  run.runtime.remove_object(run.cold);
  EXPECT_EQ(run.ledger.held(0).value, 0U);
  EXPECT_EQ(run.ledger.held(1).value, 0U);
}

TEST(RuntimeTest, ExactCounters_CountEveryLine) {
  TestRun run({.planner = "slow-only", .keep_exact = true});
  run.iterate(2);
  const auto iterations = run.records<profile::IterationRecord>();
  ASSERT_EQ(iterations.size(), 2U);
  for (const auto& record : iterations) {
    EXPECT_TRUE(record.exact);
    ASSERT_EQ(record.iteration.phases.size(), 2U);
    double lines = 0;
    for (const auto& cell : record.iteration.phases[0].cells) lines += cell.read_lines;
    EXPECT_EQ(lines, 8.0 * 4 * k_mib / 64);
  }
}

// A second program beside the first, at other addresses of the test's own memory.
TEST(RuntimeTest, SameEvents_TakeTheSameTimeToTheLastDigit) {
  TestRun run;
  run.iterate(5);
  const auto first = run.vm.now();
  TestRun again;
  again.iterate(5);
  EXPECT_EQ(first.value, again.vm.now().value);
}

}  // namespace
}  // namespace terrace::runtime
