// Tests phases that are longer or shorter than those that a plan was made for.
#include <gtest/gtest.h>

#include <vector>

#include "runtime_fixture.hpp"

namespace terrace::runtime {
namespace {

constexpr int k_chunks = 64;                            // of `hot`
constexpr std::uint64_t k_pass = 8 * (4 * k_mib / 64);  // accesses of a sweep over it

// Four passes over `hot`: its first chunk is demoted after one and promoted after two.
Plan plan_of_four_passes(bool repeats) {
  Plan plan;
  plan.planner = "hand";
  plan.machine = "two";
  plan.loop = "main";
  plan.budget = {"dram=5MiB"};
  plan.phases = {"solve"};
  for (std::uint64_t pass = 1; pass <= 4; ++pass) plan.phases.push_back("solve@" + std::to_string(pass * k_pass));
  plan.phases.emplace_back("output");
  if (repeats) plan.repeats = {{4, 1}};
  plan.objects = {{"hot", Bytes{4 * k_mib}, k_chunks, false, {{{0, k_chunks}, "dram"}}}};
  plan.moves = {{0, {0, 1}, "nvm", 1, 7, false, {}, {}}, {0, {0, 1}, "dram", 2, 8, false, {}, {}}};
  return plan;
}

struct Went {
  std::vector<std::uint32_t> transfers;  // in each iteration
  std::uint64_t in_fast_memory = 0;      // of `hot`, when the last `output` began
};

// Runs an iteration for each of `passes`, which is its number of passes over `hot`.
Went run(bool repeats, const std::vector<int>& passes, int last_chunks = 0) {
  TestRun of({.plan = plan_of_four_passes(repeats), .segments = true});
  Went went;
  of.runtime.loop_begin("main");
  for (const auto count : passes) {
    of.runtime.phase("solve");
    of.sweep(of.hot, count);
    if (last_chunks > 0) {
      observe::Quantum quantum;
      quantum.accesses = quantum.instructions = static_cast<std::uint64_t>(last_chunks) * k_pass / k_chunks;
      of.tee.quantum(quantum);
      of.runtime.on_quantum(quantum);
    }
    of.runtime.phase("output");
    of.sweep(of.cold, 1);
    went.in_fast_memory = of.in_fast_memory(of.hot);
  }
  of.runtime.loop_end();
  of.runtime.finish("exit");
  went.transfers.assign(passes.size(), 0);
  for (const auto& record : of.records<profile::TransfersRecord>())
    for (const auto& transfer : record.transfers) ++went.transfers[transfer.iteration];
  return went;
}

// From the end of the fourth pass to that of the first: the next three passes repeat the last three.
TEST(PhaseLength, LongerThanPlanned_RepeatsTheLastSegments) {
  const auto went = run(true, {4, 7, 10, 13, 4});
  EXPECT_EQ(went.transfers, (std::vector<std::uint32_t>{2, 4, 6, 8, 2}));
  EXPECT_EQ(went.in_fast_memory, 4 * k_mib);
}

TEST(PhaseLength, LongerThanPlanned_NoRepeat_DoesNothing) {
  EXPECT_EQ(run(false, {4, 7, 10}).transfers, (std::vector<std::uint32_t>{2, 2, 2}));
}

// A little more than planned does not begin a repetition.
TEST(PhaseLength, SlightlyLongerThanPlanned_DoesNotRepeat) {
  EXPECT_EQ(run(true, {4, 4}, k_chunks / 2 - 1).transfers, (std::vector<std::uint32_t>{2, 2}));
  EXPECT_EQ(run(true, {4, 4}, k_chunks / 2).transfers, (std::vector<std::uint32_t>{4, 4}));
}

// The chunk ends up where it should be, and does not move for it.
TEST(PhaseLength, ShorterThanPlanned_SkipsUnreachedMoves) {
  const auto went = run(true, {0, 1, 0, 4});
  EXPECT_EQ(went.transfers, (std::vector<std::uint32_t>{0, 2, 0, 2}));
  EXPECT_EQ(went.in_fast_memory, 4 * k_mib);
}

}  // namespace
}  // namespace terrace::runtime
