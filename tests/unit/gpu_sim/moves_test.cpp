// Tests the timing of page moves, cycle by cycle, and of DRAM rows.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "conservation.hpp"
#include "gpu_sim/engine/dram_channel.hpp"
#include "gpu_sim/engine/simulator.hpp"
#include "gpu_sim/engine/tiering_policy_adapter.hpp"
#include "kernels.hpp"
#include "machine.hpp"
#include "strategy/tiering/even_policy.hpp"
#include "strategy/tiering/gpu_policies.hpp"
#include "strategy/tiering/touch_policy.hpp"
#include "traces.hpp"

namespace terrace::gpu_sim {
namespace {

// Requests the first pages at its first interval, and notes when they have moved.
class FirstPagesMover final : public PagePlacement {
 public:
  explicit FirstPagesMover(std::uint32_t count) : count_(count) {}
  [[nodiscard]] Cycle interval() const override { return 100; }
  void decide(const IntervalEvents& seen, const PageTable& pages, PageMover& mover) override {
    std::uint32_t there = 0;
    for (std::uint32_t page = 0; page < count_; ++page) {
      if (!asked_) mover.request_move(page, 0);
      there += pages[page].memory == 0 ? 1U : 0U;
    }
    if (!asked_) began = seen.now;
    asked_ = true;
    if (there == count_ && ended == 0) ended = seen.now;
  }
  Cycle began = 0;
  Cycle ended = 0;

 private:
  std::uint32_t count_;
  bool asked_ = false;
};

constexpr std::uint32_t k_pages = 40;

double time_to_bring(const machine::Gpu& gpu) {
  const auto trace = chase(1 << 14, 3000);  // 2 MiB, a line at a time
  Replay replay(trace);
  FirstPagesMover placement(k_pages);
  const auto run = Simulator(gpu, replay, placement, {k_all, k_all}).run();
  expect_conserved(run, instructions_of(trace));
  EXPECT_GT(placement.ended, placement.began);
  return static_cast<double>(placement.ended - placement.began);
}

// Moves are limited by the link's bandwidth.
TEST(GpuMoves, PageMoves_TakeTheLinksBandwidth) {
  auto gpu = test_gpu();
  gpu.shootdown = 0;
  gpu.memories[1].link_bytes_per_second = 1e9;
  const auto crossing = k_pages * 4096 / 1e9 * gpu.hertz;
  const auto took = time_to_bring(gpu);
  EXPECT_GE(took, crossing);
  EXPECT_LE(took, 1.1 * crossing);
}

// Each page takes at least the read of its first line over the link and the write of its last line.
TEST(GpuMoves, ConcurrentCopies_AreLimited) {
  auto gpu = test_gpu();
  gpu.shootdown = 0;
  const auto least = 2 * gpu.memories[1].link_latency;
  double last = 0;
  for (const std::uint32_t copies : {4U, 2U, 1U}) {
    gpu.page_copies = copies;
    const auto took = time_to_bring(gpu);
    EXPECT_GE(took, k_pages / copies * least) << copies;
    EXPECT_GT(took, 1.4 * last) << copies;
    last = took;
  }
}

// Without draining, SMs stall for each shootdown's cycles and no more; with draining, they first wait for accesses
// in flight.
TEST(GpuMoves, Shootdowns_StallAfterTheDrain) {
  const auto trace = streaming(400);
  auto gpu = test_gpu();
  gpu.notice = 0;
  for (const std::uint32_t cycles : {50U, 100U, 500U}) {
    gpu.shootdown = cycles;
    const auto stood = [&](bool drains) {
      gpu.shootdown_drains = drains;
      TieringPolicyAdapter placement(gpu, std::make_unique<strategy::TouchPolicy>(strategy::TouchRules{1}),
                                     1 << 30);
      Replay replay(trace);
      const auto run = Simulator(gpu, replay, placement, {k_all, k_all}).run();
      expect_conserved(run, instructions_of(trace));
      const auto shootdowns = run.mover.moved_pages - run.mover.without_shootdown;
      EXPECT_GT(shootdowns, 0U);
      return std::pair(run.mover.stopped_cycles, shootdowns * cycles);
    };
    const auto [free_drain, fixed] = stood(false);
    EXPECT_EQ(free_drain, fixed);
    const auto [drained, least] = stood(true);
    EXPECT_GT(drained, least);
  }
}

// A move requested by accesses begins after the driver's notice: here after the end of the run.
TEST(GpuMoves, MovesOnTouch_BeginAfterTheNotice) {
  const auto trace = streaming(400);
  auto gpu = test_gpu();
  const auto run_with = [&](PagePlacement& placement) {
    Replay replay(trace);
    return Simulator(gpu, replay, placement, {k_all, k_all}).run();
  };
  FractionPagePlacement none(0);
  const auto remote = run_with(none);
  gpu.notice = static_cast<std::uint32_t>(2 * remote.cycles);
  TieringPolicyAdapter late(gpu, std::make_unique<strategy::TouchPolicy>(strategy::TouchRules{1}), 1 << 30);
  const auto run = run_with(late);
  EXPECT_EQ(run.cycles, remote.cycles);
  EXPECT_EQ(run.mover.moved_pages, 400U);
  gpu.notice = 0;
  TieringPolicyAdapter at_once(gpu, std::make_unique<strategy::TouchPolicy>(strategy::TouchRules{1}), 1 << 30);
  EXPECT_NE(run_with(at_once).cycles, remote.cycles);
}

TEST(GpuMoves, Stores_CountAsTouches) {
  StoredTrace trace;
  Device device(trace);
  auto x = device.array<float>("x", 1024);
  device.launch({"store", 1, 32}, [&](Thread& t) {
    for (const auto i : t.range(0, 32)) t.store(x, i * 32 + t.thread(), t.own(1.0F));
  });
  class Counting final : public PagePlacement {
   public:
    [[nodiscard]] std::uint32_t touch_threshold() const override { return 8; }
    void on_touched(std::uint32_t, const PageTable&, PageMover&) override { ++told; }
    int told = 0;
  } placement;
  const auto gpu = test_gpu();
  Replay replay(trace);
  Simulator(gpu, replay, placement, {k_all, k_all}).run();
  EXPECT_EQ(placement.told, 4);
}

// An SM that waited for a page walks again after the move: a first walk that finds a fault, and one after it.
TEST(GpuMoves, WaitingSms_WalkAgainAfterTheMove) {
  StoredTrace trace;
  Device device(trace);
  auto x = device.array<float>("x", 32);
  device.launch({"once", 1, 32}, [&](Thread& t) { static_cast<void>(t.load(x, t.thread()) + 1.0F); });
  auto gpu = test_gpu();
  const auto cycles = [&](std::uint32_t walk) {
    gpu.walk_latency = walk;
    TieringPolicyAdapter placement(gpu, strategy::make_gpu_policy("migrate-on-fault", {}), 1 << 30);
    Replay replay(trace);
    const auto run = Simulator(gpu, replay, placement, {k_all, k_all}).run();
    EXPECT_EQ(run.faults.faults, 1U);
    return run.cycles;
  };
  EXPECT_EQ(cycles(1100) - cycles(100), 2000U);
}

// The oldest warp has a thousand times the work of each other warp, which begin concurrently. It always goes
// first, so the others do not delay it, and the kernel takes what it would take alone.
TEST(GpuScheduling, GreedyThenOldest_OldestWarpIsNotDelayed) {
  const auto kernel = [](std::int32_t warps) {
    StoredTrace trace;
    Device device(trace);
    device.launch({"uneven", 1, 32 * warps}, [&](Thread& t) {
      auto x = t.own(1.0F);
      if (t.thread() >= 32) {
        static_cast<void>(x + 1.0F);
        return;
      }
      for (const auto i : t.range(0, 1000)) {
        static_cast<void>(i);
        x = x + 1.0F;
      }
    });
    return trace;
  };
  auto gpu = test_gpu();
  gpu.schedulers = 1;
  const auto cycles = [&](std::int32_t warps) {
    const auto trace = kernel(warps);
    Replay replay(trace);
    FractionPagePlacement none(1);
    return Simulator(gpu, replay, none, {k_all, k_all}).run().cycles;
  };
  const auto alone = cycles(1);
  EXPECT_GT(alone, 8000U);
  EXPECT_EQ(cycles(32), alone);
}

// --- rows of DRAM ---

// Returns when the transfers of two requests have ended, in commands of the channel. Both are for one bank, in two
// rows.
std::vector<double> two_rows(machine::GpuMemory memory, TransferOwner::Kind first) {
  memory.refresh = 0;
  constexpr double hertz = 1.4e9;
  DramChannel channel(memory, hertz);
  const std::uint64_t row_lines = memory.row_bytes / 128;
  // The next row number in the same bank: banks are hashed by exclusive or.
  const auto other = std::uint64_t{memory.banks} + 1;
  channel.add(0, 0, 128, {first, 1});
  std::vector<double> ends;
  for (Cycle now = 0; ends.size() < 2;) {
    auto next = channel.run(now);
    for (const auto& one : channel.started()) {
      ends.push_back(static_cast<double>(one.at) * 924e6 / hertz);
      // After the first has begun, because reads go before writes.
      if (ends.size() == 1) channel.add(now, other * row_lines, 128, {TransferOwner::Kind::fill, 2});
    }
    channel.started().clear();
    if (next == 0) next = channel.run(now);
    if (next == 0) break;
    now = next;
  }
  return ends;
}

TEST(DramChannel, TwoRowsOfABank_AreOpenedARowCycleApart) {
  const auto memory = test_memory(8, 200e9, 0);
  const auto ends = two_rows(memory, TransferOwner::Kind::fill);
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_NEAR(ends[1] - ends[0], memory.row_cycle, 1.5);
}

TEST(DramChannel, RowWithAWrite_ClosesAfterWriteRecovery) {
  auto memory = test_memory(8, 200e9, 0);
  memory.write_latency = 60;
  memory.write_to_read = memory.read_to_write = 0;
  const auto ends = two_rows(memory, TransferOwner::Kind::write_back);
  ASSERT_EQ(ends.size(), 2U);
  // Write recovery, precharge, activation, and the read's own transfer and latency.
  const auto burst = 128 * 924e6 / (200e9 / 8);
  EXPECT_NEAR(ends[1] - ends[0], 60 + 12 + 12 + burst + 12, 1.5);
}

TEST(DramChannel, TwoBanks_ActivationsAreSpaced) {
  auto memory = test_memory(8, 200e9, 0);
  memory.refresh = 0;
  memory.row_to_row = 30;
  constexpr double hertz = 1.4e9;
  DramChannel channel(memory, hertz);
  for (std::uint64_t row = 0; row < 8; ++row)
    channel.add(0, row * memory.row_bytes / 128, 128, {TransferOwner::Kind::fill, 0});
  std::vector<double> ends;
  for (Cycle now = 0; ends.size() < 8;) {
    const auto next = channel.run(now);
    for (const auto& one : channel.started()) ends.push_back(static_cast<double>(one.at) * 924e6 / hertz);
    channel.started().clear();
    if (next == 0) break;
    now = next;
  }
  ASSERT_EQ(ends.size(), 8U);
  for (std::size_t i = 1; i < ends.size(); ++i) EXPECT_NEAR(ends[i] - ends[i - 1], 30, 1.5) << i;
}

// --- our own policy, step by step ---

struct EvenBench {
  memory::ChunkTable chunks;
  strategy::Tiers tiers;
  strategy::EvenPolicy policy{strategy::EvenStart::slow};
  EvenBench() {
    for (std::uint32_t i = 0; i < 100; ++i) chunks.add(i * 4096, 4096, 0, 0, 1);
    tiers.chunks = &chunks;
    tiers.fast = 0;
    tiers.slow = 1;
    tiers.capacity = tiers.free = Bytes{1 << 30};
    tiers.fast_bandwidth = BytesPerSecond{200e9};
    tiers.slow_bandwidth = BytesPerSecond{80e9};
  }
  void touch(ChunkId chunk, int times) {
    strategy::PolicyChoice none;
    for (int i = 0; i < times; ++i) policy.on_touch(chunk, tiers, none);
    EXPECT_TRUE(none.moves.empty());
  }
  std::vector<transfer::TransferRequest> look(double fast, double slow) {
    observe::Observation seen;
    seen.places.resize(2);
    seen.places[0].reads = fast;
    seen.places[0].utilisation = fast;
    seen.places[1].reads = slow;
    seen.places[1].utilisation = slow;
    strategy::PolicyChoice choice;
    policy.decide(seen, tiers, choice);
    for (const auto& move : choice.moves) chunks.put(chunks[move.chunk], move.to);
    return choice.moves;
  }
};

TEST(EvenPolicy, UnaccessedAndReusedPages_ArePromoted) {
  EvenBench bench;
  for (ChunkId chunk = 0; chunk < 10; ++chunk) bench.touch(chunk, 1);
  for (int looks = 0; looks < 10; ++looks) {
    for (const auto& move : bench.look(0, 1)) {
      EXPECT_GE(move.chunk, 10U);
      EXPECT_EQ(move.to, 0);
    }
    bench.touch(0, 1);
  }
  for (ChunkId chunk = 10; chunk < 100; ++chunk) EXPECT_EQ(bench.chunks[chunk].place, 0) << chunk;
  for (ChunkId chunk = 0; chunk < 10; ++chunk) EXPECT_EQ(bench.chunks[chunk].place, 1) << chunk;
  // 4 KiB are 32 lines: 64 accesses are twice as many.
  bench.touch(5, 62);
  bench.look(0, 1);
  EXPECT_EQ(bench.chunks[5].place, 1);
  bench.touch(5, 1);
  bench.look(0, 1);
  EXPECT_EQ(bench.chunks[5].place, 0);
}

TEST(EvenPolicy, ExcessPages_AreDemoted) {
  EvenBench bench;
  for (int looks = 0; looks < 10; ++looks) {
    bench.touch(0, 1);
    bench.look(0, 1);
  }
  std::size_t back = 0;
  for (int looks = 0; looks < 10; ++looks)
    for (const auto& move : bench.look(1, 0)) back += move.to == 1 ? 1U : 0U;
  EXPECT_GT(back, 0U);
}

}  // namespace
}  // namespace terrace::gpu_sim
