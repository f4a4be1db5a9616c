// Tests plans whose segments begin by time: a phase is expected to be as long as the last time.
#include <gtest/gtest.h>

#include <vector>

#include "model/costs.hpp"
#include "runtime_fixture.hpp"

namespace terrace::runtime {
namespace {

// Returns the cost of a marker between a phase's begin in the journal and the time from which its segments count.
constexpr double k_slack = 1e-6;

// A phase whose second segment promotes a chunk and whose third demotes it.
Plan plan_of_segments() {
  Plan plan;
  plan.planner = "hand";
  plan.machine = "two";
  plan.loop = "main";
  plan.progress = "timer";
  plan.budget = {"dram=5MiB"};
  plan.phases = {"solve", "solve@100", "solve@300", "output"};
  plan.lengths = {400, 0, 0, 0};
  plan.objects = {{"hot", Bytes{4 * k_mib}, 64, false, {}}, {"cold", Bytes{16 * k_mib}, 64, false, {}}};
  plan.moves = {{0, {0, 1}, "dram", 1, 5, false, {}, {}}, {0, {0, 1}, "nvm", 2, 6, false, {}, {}}};
  return plan;
}

struct WentByTime {
  std::vector<profile::PhaseRecord> solves;
  std::vector<profile::Transfer> transfers;
};

// "solve" takes the given milliseconds, iteration by iteration; its accesses are not counted.
WentByTime run(const Plan& plan, const std::vector<int>& milliseconds) {
  TestRun of({.plan = plan, .progress = "timer"});
  of.runtime.loop_begin("main");
  for (const auto each : milliseconds) {
    of.runtime.phase("solve");
    of.compute(static_cast<std::uint64_t>(each) * 4'000'000);
    of.runtime.phase("output");
    of.compute(4'000'000);
  }
  of.runtime.loop_end();
  of.runtime.finish("exit");
  WentByTime went;
  for (const auto& phase : of.records<profile::PhaseRecord>())
    if (phase.name == "solve") went.solves.push_back(phase);
  for (const auto& record : of.records<profile::TransfersRecord>())
    went.transfers.insert(went.transfers.end(), record.transfers.begin(), record.transfers.end());
  return went;
}

TEST(SegmentTimer, Segment_BeginsAfterItsShareOfTheLastTime) {
  const auto went = run(plan_of_segments(), {10, 10, 14, 12});
  ASSERT_EQ(went.transfers.size(), 8U);
  for (std::size_t i = 1; i < went.solves.size(); ++i) {
    const auto last = went.solves[i - 1].ended - went.solves[i - 1].begun;
    const auto begun = went.solves[i].begun;
    EXPECT_NEAR((went.transfers[2 * i].begun - begun).value, 0.25 * last.value, k_slack) << i;
    EXPECT_NEAR((went.transfers[2 * i + 1].begun - begun).value, 0.75 * last.value, k_slack) << i;
  }
}

// The length of a phase is unknown before its first instance has ended: its segments begin at its end.
TEST(SegmentTimer, NoPrediction_FirstInstance_BeginsAtItsEnd) {
  const auto went = run(plan_of_segments(), {10, 10});
  ASSERT_EQ(went.transfers.size(), 4U);
  EXPECT_EQ(went.transfers[0].begun, went.solves[0].ended);
  EXPECT_GE(went.transfers[1].begun, went.transfers[0].done);
}

TEST(SegmentTimer, Prediction_TimesTheFirstInstance) {
  auto plan = plan_of_segments();
  plan.times = {{1e-3}, {2e-3}, {7e-3}, {1e-3}};
  const auto went = run(plan, {10, 20});
  ASSERT_EQ(went.transfers.size(), 4U);
  EXPECT_NEAR((went.transfers[0].begun - went.solves[0].begun).value, 1e-3, k_slack);
  EXPECT_NEAR((went.transfers[1].begun - went.solves[0].begun).value, 3e-3, k_slack);
  // Shares are those of the predicted time, not of accesses.
  EXPECT_NEAR((went.transfers[2].begun - went.solves[1].begun).value, 1e-3, k_slack);
  EXPECT_NEAR((went.transfers[3].begun - went.solves[1].begun).value, 3e-3, k_slack);
}

// A phase that is shorter than before: the remaining moves begin at its end, in their order, and the next phase
// finds all data where the plan has it.
TEST(SegmentTimer, ShortPhase_UnreachedSegmentsBeginAtItsEnd) {
  const auto went = run(plan_of_segments(), {10, 2, 5});
  ASSERT_EQ(went.transfers.size(), 6U);
  EXPECT_EQ(went.transfers[2].begun, went.solves[1].ended);
  EXPECT_EQ(went.transfers[3].begun, went.transfers[2].done);
  EXPECT_NEAR((went.transfers[4].begun - went.solves[2].begun).value, 0.25 * 2e-3, k_slack);
}

// The order of moves does not depend on the length of phases.
TEST(SegmentTimer, AnyLength_KeepsTheOrderOfThePlan) {
  const auto even = run(plan_of_segments(), {10, 10, 10, 10, 10});
  const auto uneven = run(plan_of_segments(), {10, 1, 30, 2, 7});
  ASSERT_EQ(even.transfers.size(), uneven.transfers.size());
  for (std::size_t i = 0; i < even.transfers.size(); ++i) {
    EXPECT_EQ(even.transfers[i].move, uneven.transfers[i].move);
    EXPECT_EQ(even.transfers[i].iteration, uneven.transfers[i].iteration);
  }
}

// The second segment begins with an access to a chunk of `cold`, wherever in the phase it happens; the third has
// no sentinel and begins by time.
TEST(SegmentSentinel, AccessToTheChunk_BeginsTheSegment) {
  auto plan = plan_of_segments();
  plan.progress = "sentinel";
  plan.sentinels = {{1, 1, 7}};
  TestRun of({.plan = plan, .progress = "sentinel"});
  constexpr std::uint64_t k_millisecond = 4'000'000;
  const auto touch = [&](std::uint32_t ordinal) {
    ChunkId first = 0;
    while (of.chunks[first].object != of.cold) ++first;
    const observe::Miss miss{first + ordinal, 0, 0, observe::MissKind::prefetched};
    observe::Quantum quantum;
    quantum.accesses = 1;
    quantum.misses = {&miss, 1};
    of.tee.quantum(quantum);
    return of.vm.now();
  };
  std::vector<Seconds> touched;
  of.runtime.loop_begin("main");
  for (const std::uint64_t into : {2, 7, 5}) {
    of.runtime.phase("solve");
    of.compute(into * k_millisecond);
    touch(6);
    touched.push_back(touch(7));
    of.compute((10 - into) * k_millisecond);
    of.runtime.phase("output");
    of.compute(k_millisecond);
  }
  of.runtime.loop_end();
  of.runtime.finish("exit");
  std::vector<profile::Transfer> transfers;
  for (const auto& record : of.records<profile::TransfersRecord>())
    transfers.insert(transfers.end(), record.transfers.begin(), record.transfers.end());
  std::vector<profile::PhaseRecord> solves;
  for (const auto& phase : of.records<profile::PhaseRecord>())
    if (phase.name == "solve") solves.push_back(phase);
  ASSERT_EQ(transfers.size(), 6U);
  for (std::size_t i = 0; i < touched.size(); ++i) EXPECT_EQ(transfers[2 * i].begun, touched[i]) << i;
  for (std::size_t i = 1; i < solves.size(); ++i) {
    const auto last = solves[i - 1].ended - solves[i - 1].begun;
    EXPECT_NEAR((transfers[2 * i + 1].begun - solves[i].begun).value, 0.75 * last.value, k_slack);
  }
  std::size_t said = 0;
  for (const auto& note : of.records<profile::NoteRecord>())
    if (note.text.find("begin by time, such as solve@300") != std::string::npos) ++said;
  EXPECT_EQ(said, 1U);
}

}  // namespace
}  // namespace terrace::runtime
