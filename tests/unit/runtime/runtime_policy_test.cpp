// Tests policies in a running configuration on the simulator: they start like the kernel, stay within the budget,
// find the hot object, are charged, and repeat.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "runtime_fixture.hpp"

namespace terrace::runtime {
namespace {

// `cold` and `hot` are allocated first and fill fast memory; `late` is what the program works on.
struct LateRun {
  explicit LateRun(const std::string& planner, observe::MissKind kind = observe::MissKind::independent)
      : run({.planner = planner, .fast = Bytes{5 * k_mib}}) {
    late = run.runtime.add_object("late", observe::ObjectKind::heap, TestRun::address(3), Bytes{4 * k_mib});
    run.runtime.loop_begin("main");
    for (int i = 0; i < 20; ++i) {
      run.runtime.phase("solve");
      run.sweep(late, 8, kind);
      run.runtime.phase("output");
      run.sweep(run.hot, 1, kind);
    }
    run.runtime.loop_end();
    run.runtime.finish("exit");
  }

  std::size_t transfers() {
    std::size_t count = 0;
    for (const auto& record : run.records<profile::TransfersRecord>()) count += record.transfers.size();
    return count;
  }

  TestRun run;
  ObjectId late = 0;
};

class PolicyInARun : public testing::TestWithParam<std::string> {};

TEST_P(PolicyInARun, AnyPolicy_KeepsTheBudgetAndRepeats) {
  LateRun once(GetParam()), again(GetParam());
  EXPECT_LE(once.run.max_held(), 5 * k_mib);
  EXPECT_EQ(once.run.vm.now().value, again.run.vm.now().value);
  once.run.vm.charge(Seconds{1});  // a chunk in flight occupies both places until it arrives
  EXPECT_EQ(once.run.ledger.held(0).value + once.run.ledger.held(1).value, 24 * k_mib);
  EXPECT_EQ(again.run.max_held(), once.run.max_held());
  EXPECT_EQ(again.transfers(), once.transfers());
  EXPECT_TRUE(once.run.records<profile::PlanRecord>().empty());
  EXPECT_TRUE(once.run.records<profile::NoteRecord>().empty());
}

INSTANTIATE_TEST_SUITE_P(All, PolicyInARun, testing::Values("kernel-tiering", "memtis", "colloid", "alto"),
                         [](const auto& policy) {
                           auto name = policy.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(PolicyInARun, Start_PlacesAsFirstTouch) {
  TestRun run({.planner = "memtis", .fast = Bytes{5 * k_mib}});
  EXPECT_EQ(run.ledger.held(0).value, 5 * k_mib);
}

TEST(PolicyInARun, Memtis_PromotesTheHotObject) {
  LateRun run("memtis");
  EXPECT_EQ(run.run.in_fast_memory(run.late), 4 * k_mib);
}

TEST(PolicyInARun, KernelTiering_PromotesTheHotObjectAtACost) {
  LateRun run("kernel-tiering");
  EXPECT_GE(run.run.in_fast_memory(run.late), 3 * k_mib);
  // Chunks fault before they are promoted, at 1.5 us each.
  EXPECT_GE(run.run.vm.account().charged.value, 48 * 1.5e-6);
}

// Streams hide their latency here (prefetch_mlp = 200), so no move pays.
TEST(PolicyInARun, Alto_DoesNotMoveStreams) {
  LateRun run("alto", observe::MissKind::prefetched);
  EXPECT_EQ(run.run.in_fast_memory(run.late), 0U);
}

TEST(InterleaveInARun, NewChunks_AlternateBetweenPlaces) {
  TestRun run({.planner = "interleave", .fast = Bytes{64 * k_mib}});
  for (ChunkId chunk = 0; chunk < run.chunks.size(); ++chunk)
    EXPECT_EQ(run.chunks[chunk].place.load(), chunk % 2) << chunk;
}

}  // namespace
}  // namespace terrace::runtime
