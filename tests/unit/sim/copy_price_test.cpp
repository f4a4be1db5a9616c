// Tests what moves cost beyond their bytes, in virtual time, against closed forms.
#include <gtest/gtest.h>

#include "world.hpp"

namespace terrace::sim {
namespace {

constexpr PlaceId k_fast = 0;
constexpr PlaceId k_slow = 1;
constexpr std::uint32_t k_mib = 1u << 20;

machine::CopierPrice swap() {
  return {"swap",  {2 * k_mib},   {25e-6}, {{{4096}, {0.2e-6}}, {{2 * k_mib}, {1e-6}}},
          {20e-6}, Seconds{4e-6}, 4,       15};
}

void compute(TestWorld& world, double seconds) {
  world.virtual_machine.quantum({0, 0, static_cast<std::uint64_t>(seconds / 0.25e-9), {}, {}});
}

void read_one_line(TestWorld& world, ChunkId chunk) {
  const observe::Miss miss{chunk, 0, 255, observe::MissKind::dependent};
  world.virtual_machine.quantum({0, 1, 0, {}, {&miss, 1}});
}

double alone(const MachineChoice& choice, std::uint32_t size, PlaceId from = k_slow) {
  TestWorld world(test_machine(choice));
  const auto chunk = world.add_chunks(1, size, from);
  world.virtual_machine.wait(world.virtual_machine.submit({chunk, from == k_slow ? k_fast : k_slow}));
  return world.now();
}

TEST(CopyPrice, PiecesPagesAndBytes_AddUp) {
  const MachineChoice choice{.copier = swap(), .cores = 8};
  EXPECT_NEAR(alone(choice, 2 * k_mib), 25e-6 + 1e-6 + 2 * k_mib / 8e9, 1e-12);
  EXPECT_NEAR(alone(choice, 64 * 1024), 25e-6 + 16 * 0.2e-6 + 65536 / 8e9, 1e-12);
  // Three pieces; two huge pages and half of one in small pages.
  EXPECT_NEAR(alone(choice, 5 * k_mib), 3 * 25e-6 + 2 * 1e-6 + 256 * 0.2e-6 + 5 * k_mib / 8e9, 1e-12);
}

TEST(CopyPrice, FewThreads_LatencyLimitsTheRate) {
  // 15 lines of 64 bytes per 344 ns are 2.79 GB/s: one thread reaches that, four of them 11.2, eight the
  // bandwidth.
  for (const std::uint32_t threads : {1, 4, 8}) {
    auto copier = swap();
    copier.threads = threads;
    const MachineChoice choice{.bandwidth = 1, .latency = 4, .copier = copier, .cores = 16};
    const auto rate = std::min(16e9, threads * 15 * 64 / 344e-9);
    EXPECT_NEAR(alone(choice, 2 * k_mib), 26e-6 + 2 * k_mib / rate, 1e-12);
    EXPECT_NEAR(alone(choice, 2 * k_mib, k_fast), 26e-6 + 2 * k_mib / rate, 1e-12) << "the way back, too";
  }
}

TEST(CopyPrice, FreeCores_AreUsedByTheMover) {
  const MachineChoice choice{.bandwidth = 1, .latency = 4, .copier = swap(), .cores = 3};  // two of them free
  EXPECT_NEAR(alone(choice, 2 * k_mib), 26e-6 + 2 * k_mib / (2 * 15 * 64 / 344e-9), 1e-12);
}

TEST(CopyPrice, NoFreeCore_MoverAndProgramShareOne) {
  const MachineChoice choice{.copier = swap(), .cores = 1};
  TestWorld world(test_machine(choice));
  const auto chunk = world.add_chunks(1, 2 * k_mib, k_slow);
  world.virtual_machine.submit({chunk, k_fast});
  compute(world, 1e-3);
  // Both have half of the core until the move completes.
  const auto own = 26e-6 + 2 * k_mib / 8e9;
  EXPECT_NEAR(world.virtual_machine.completions().at(0).done.value, 2 * own, 1e-12);
  EXPECT_NEAR(world.now(), 1e-3 + own + 20e-6, 1e-12);
  EXPECT_NEAR(world.virtual_machine.account().stalled.value, own + 20e-6, 1e-12);
  EXPECT_NEAR(world.virtual_machine.account().core.value, 1e-3, 1e-12);
}

TEST(CopyPrice, EachPiece_StallsTheProgram) {
  const MachineChoice choice{.copier = swap(), .cores = 8};
  TestWorld world(test_machine(choice));
  const auto chunks = world.add_chunks(3, 4 * k_mib, k_slow);
  for (ChunkId i = 0; i < 3; ++i) world.virtual_machine.submit({chunks + i, k_fast});
  compute(world, 10e-3);
  EXPECT_NEAR(world.now(), 10e-3 + 6 * 20e-6, 1e-12);
  EXPECT_NEAR(world.virtual_machine.account().stalled.value, 6 * 20e-6, 1e-12);
  EXPECT_NEAR(world.virtual_machine.account().total().value, world.now(), 1e-12);
}

TEST(CopyPrice, WaitingThread_LosesOnlyTheWait) {
  const MachineChoice choice{.copier = swap(), .cores = 8};
  TestWorld world(test_machine(choice));
  const auto chunk = world.add_chunks(1, 2 * k_mib, k_slow);
  world.virtual_machine.wait(world.virtual_machine.submit({chunk, k_fast}));
  const auto done = world.now();
  compute(world, 1e-3);
  EXPECT_NEAR(world.now(), done + 1e-3, 1e-12);
  EXPECT_EQ(world.virtual_machine.account().stalled.value, 0);
}

TEST(CopyPrice, ChunkInFlightAccessed_TrapsAndWaits) {
  const MachineChoice choice{.latency = 4, .copier = swap(), .cores = 8};
  const auto whole = 26e-6 + 2 * k_mib / 8e9;
  TestWorld world(test_machine(choice));
  const auto moved = world.add_chunks(1, 2 * k_mib, k_slow);
  const auto other = world.add_chunks(1, 2 * k_mib, k_slow);
  world.virtual_machine.submit({moved, k_fast});
  read_one_line(world, other);
  EXPECT_NEAR(world.now(), 344e-9, 1e-15) << "another chunk's reader goes on";
  read_one_line(world, moved);
  EXPECT_NEAR(world.now(), whole + 4e-6 + 86e-9, 1e-12) << "and is served by the new place";
  EXPECT_NEAR(world.virtual_machine.account().waited.value, whole - 344e-9, 1e-12);
  EXPECT_NEAR(world.virtual_machine.account().stalled.value, 4e-6, 1e-12);
}

TEST(CopyPrice, IdealCopier_ServesFromTheSource) {
  TestWorld world(test_machine({.latency = 4}));
  const auto moved = world.add_chunks(1, 2 * k_mib, k_slow);
  world.virtual_machine.submit({moved, k_fast});
  read_one_line(world, moved);
  EXPECT_NEAR(world.now(), 344e-9, 1e-15);
}

TEST(CopyPrice, FreeMoves_CostNothing) {
  TestWorld world(test_machine({.copier = swap()}));
  world.virtual_machine.make_copies_free();
  const auto moved = world.add_chunks(1, 2 * k_mib, k_slow);
  world.virtual_machine.submit({moved, k_fast});
  read_one_line(world, moved);
  compute(world, 1e-3);
  EXPECT_NEAR(world.now(), 1e-3 + 86e-9, 1e-9);
  EXPECT_EQ(world.virtual_machine.account().stalled.value, 0);
}

// A chunk is demoted while the program is charged for a stall, before the quantum is priced, and promoted within
// the quantum, with its traffic. (Regression: the traffic was on the chunk's previous place.)
TEST(CopyPrice, ChunkMovesWhileStalled_TrafficIsAtItsPlace) {
  auto copier = swap();
  copier.stall = Seconds{100e-6};
  copier.trap = {};
  TestWorld world(test_machine({.latency = 4, .copier = copier, .cores = 8}));
  const auto small = world.add_chunks(2, 64 * 1024, k_slow);   // 36 us each
  const auto moved = world.add_chunks(1, 512 * 1024, k_slow);  // 116 us
  world.virtual_machine.submit({small, k_fast});
  world.virtual_machine.submit({small + 1, k_fast});
  world.virtual_machine.submit({moved, k_fast});
  world.virtual_machine.submit({moved, k_slow});
  compute(world, 36.5e-6);
  ASSERT_EQ(world.virtual_machine.completions().size(), 2U);
  const observe::Miss miss{moved, 0, 255, observe::MissKind::dependent};
  world.virtual_machine.quantum({0, 1, static_cast<std::uint64_t>(1e-3 / 0.25e-9), {}, {&miss, 1}});
  ASSERT_EQ(world.virtual_machine.completions().size(), 2U);
  const auto exposed = world.virtual_machine.account().exposed.value;
  EXPECT_GT(exposed, 86e-9);  // of both places, weighted by the chunk's residence
  EXPECT_LT(exposed, 344e-9);
  EXPECT_NEAR(world.virtual_machine.account().total().value, world.now(), 1e-9);
}

TEST(CopyPrice, Planning_TakesOrSharesACore) {
  TestWorld free(test_machine({.cores = 2}));
  EXPECT_EQ(free.virtual_machine.background_finish_time({1e-3}).value, 1e-3);
  free.virtual_machine.charge_background_work({1e-3});
  EXPECT_EQ(free.now(), 0);
  TestWorld busy(test_machine({.cores = 1}));
  EXPECT_NEAR(busy.virtual_machine.background_finish_time({1e-3}).value, 2e-3, 1e-12);
  busy.virtual_machine.charge_background_work({1e-3});
  EXPECT_NEAR(busy.now(), 1e-3, 1e-12);
}

}  // namespace
}  // namespace terrace::sim
