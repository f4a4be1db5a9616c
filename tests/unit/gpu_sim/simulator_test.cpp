// Tests the simulated GPU against closed forms, conservation laws, and policies that have to agree.
#include "gpu_sim/engine/simulator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "conservation.hpp"
#include "core/error.hpp"
#include "gpu_sim/simt/device.hpp"
#include "kernels.hpp"
#include "machine.hpp"
#include "traces.hpp"

namespace terrace::gpu_sim {
namespace {

// Requests the promotion of a page after a number of accesses.
class Threshold final : public PagePlacement {
 public:
  explicit Threshold(std::uint32_t touches) : touches_(touches) {}
  [[nodiscard]] std::uint32_t touch_threshold() const override { return touches_; }
  void on_touched(std::uint32_t page, const PageTable&, PageMover& mover) override { mover.request_move(page, 0); }

 private:
  std::uint32_t touches_;
};

// Moves pages at random in both directions, at every interval.
class RandomMover final : public PagePlacement {
 public:
  explicit RandomMover(unsigned seed) : random_(seed) {}
  [[nodiscard]] std::vector<std::uint8_t> initial_memories(const Allocation&, std::uint64_t) override {
    return {0, 1};
  }
  [[nodiscard]] Cycle interval() const override { return 500; }
  void decide(const IntervalEvents&, const PageTable& pages, PageMover& mover) override {
    for (int i = 0; i < 5; ++i)
      mover.request_move(static_cast<std::uint32_t>(random_() % pages.size()),
                         static_cast<std::uint8_t>(random_() % 2));
  }

 private:
  std::mt19937 random_;
};

RunCounts simulate(const StoredTrace& trace, const machine::Gpu& gpu, PagePlacement&& placement,
                   std::vector<std::uint64_t> capacity = {k_all, k_all}) {
  Replay replay(trace);
  return Simulator(gpu, replay, placement, std::move(capacity)).run();
}

TEST(GpuSimulator, Stream_ReachesThePeak) {
  const auto gpu = test_gpu();
  const auto trace = streaming(1500);
  for (const std::uint32_t memory : {0U, 1U}) {
    const auto run = simulate(trace, gpu, FractionPagePlacement(memory == 0 ? 1 : 0));
    const auto reached = bytes_per_second(run, gpu, memory) / gpu.memories[memory].bytes_per_second;
    EXPECT_GT(reached, 0.80) << memory;
    EXPECT_LT(reached, 1.0) << memory;
  }
}

// Time spent in refresh is lost.
TEST(GpuSimulator, Refresh_TakesItsTime) {
  const auto trace = streaming(2000);
  auto gpu = test_gpu();
  gpu.memories[0].refresh = 0;
  const auto time = [&] { return static_cast<double>(simulate(trace, gpu, FractionPagePlacement(1)).cycles); };
  const auto without = time();
  for (const std::uint32_t refresh : {180U, 360U, 720U}) {
    gpu.memories[0].refresh = refresh;
    const auto share = refresh / 3604.0;
    EXPECT_NEAR(time() / without, 1 / (1 - share), 0.3 * share) << refresh;
  }
}

// A copy, whose writes are buffered up to half of a channel's queue: one turnaround for some 24 of them.
TEST(GpuSimulator, BusTurnarounds_TakeTheirTime) {
  StoredTrace trace;
  Device device(trace);
  constexpr std::int32_t ctas = 1500;
  auto x = device.array<float>("x", ctas * 1024);
  auto y = device.array<float>("y", ctas * 1024);
  device.launch({"copy", ctas, 256}, [&](Thread& t) {
    for (const auto i : t.range(0, 4)) {
      const auto at = t.block() * 1024 + i * 256 + t.thread();
      t.store(y, at, t.load(x, at));
    }
  });
  auto gpu = test_gpu();
  for (auto& memory : gpu.memories) memory.refresh = memory.write_to_read = memory.read_to_write = 0;
  const auto time = [&] { return static_cast<double>(simulate(trace, gpu, FractionPagePlacement(1)).cycles); };
  const auto free_turns = time();
  double last = free_turns;
  for (const std::uint32_t turn : {10U, 20U, 40U}) {
    gpu.memories[0].write_to_read = gpu.memories[0].read_to_write = turn;
    const auto now = time();
    EXPECT_GT(now, last) << turn;
    last = now;
  }
  // At most 48 transfers of 4.7 commands' time, and two turnarounds of 40.
  EXPECT_LT(last, free_turns * (1 + 80 / (48 * 4.7)) * 1.05);
}

// Two memories concurrently: the slower one determines the time, and the best split is that of their bandwidths.
TEST(GpuSimulator, SplitOverTwoMemories_ReachesBothBandwidths) {
  const auto gpu = test_gpu();
  const auto trace = streaming(1500);
  const auto best = 5.0 / 7;
  double most = 0;
  double most_at = 0;
  for (const double share : {0.3, 0.5, best, 0.85, 0.95}) {
    const auto run = simulate(trace, gpu, FractionPagePlacement(share));
    const auto reached = bytes_per_second(run, gpu, 0) + bytes_per_second(run, gpu, 1);
    const auto ideal = std::min(200e9 / share, 80e9 / (1 - share));
    EXPECT_GT(reached, 0.88 * ideal) << share;
    EXPECT_LE(reached, 1.001 * ideal) << share;
    if (reached > most) most_at = share;
    most = std::max(most, reached);
  }
  EXPECT_EQ(most_at, best);
  const auto remote = simulate(trace, gpu, FractionPagePlacement(0)).cycles;
  EXPECT_LT(
      static_cast<double>(remote) / static_cast<double>(simulate(trace, gpu, FractionPagePlacement(1)).cycles),
      2.5);
  EXPECT_LT(
      static_cast<double>(remote) / static_cast<double>(simulate(trace, gpu, FractionPagePlacement(best)).cycles),
      3.5);
}

// A step of a chase takes what it passes: address and loop, L1, network, L2, activation of a row, network.
TEST(GpuSimulator, Chase_TakesTheSumOfItsLatencies) {
  auto gpu = test_gpu();
  gpu.l1_tlb_entries = 4096;  // no TLB misses
  constexpr std::size_t lines = 1 << 16;
  constexpr std::int32_t steps = 2000;
  const auto trace = chase(lines, steps);
  const auto scale = gpu.hertz / 924e6;
  for (const std::uint32_t memory : {0U, 1U}) {
    auto warm = gpu;
    warm.walk_latency = warm.l2_tlb_latency = 0;
    const auto run = simulate(trace, warm, FractionPagePlacement(memory == 0 ? 1 : 0));
    const auto instructions = 1.0;  // the address waits for the previous load; the loop's own ran meanwhile
    const auto& dram = warm.memories[memory];
    const auto burst = 128 * gpu.hertz * dram.channels / dram.bytes_per_second;
    const auto open = (12 + 12) * scale;  // row to column, column: a refresh has closed the bank since it was used
    const auto transfer = 128.0 / gpu.network_bytes;
    const auto expected = instructions * gpu.instruction_latency + 2 * gpu.network_latency +
                          2 * dram.link_latency + gpu.l2.latency + open + burst + transfer;
    const auto step = static_cast<double>(run.cycles) / steps;
    EXPECT_NEAR(step, expected, 0.05 * expected) << memory;
  }
}

// Bandwidth follows from the bytes in flight and their latency (Little's law), up to the memory's bandwidth.
TEST(GpuSimulator, Bandwidth_FollowsLittlesLaw) {
  auto gpu = test_gpu();
  gpu.walk_latency = gpu.l2_tlb_latency = 0;
  const auto trace = streaming(600);
  double one = 0;
  for (const std::uint32_t processors : {1U, 2U, 4U}) {
    gpu.processors = processors;
    gpu.l1.mshrs = 4;
    const auto reached = bytes_per_second(simulate(trace, gpu, FractionPagePlacement(1)), gpu, 0);
    if (processors == 1) one = reached;
    EXPECT_NEAR(reached, one * processors, 0.05 * one * processors);
  }
  gpu.processors = 15;
  gpu.l1.mshrs = 64;
  EXPECT_LT(bytes_per_second(simulate(trace, gpu, FractionPagePlacement(1)), gpu, 0), 200e9);
}

TEST(GpuSimulator, RandomMoves_AreConserved) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    const auto trace = mixed(seed);
    auto gpu = test_gpu();
    gpu.sectored = seed % 2 == 1;
    gpu.shootdown_drains = seed % 3 == 1;
    if (seed % 4 == 3) gpu.scheduler = machine::WarpScheduler::round_robin;
    expect_conserved(simulate(trace, gpu, FractionPagePlacement(0.5)), instructions_of(trace));
    const auto moving = simulate(trace, gpu, RandomMover(seed));
    expect_conserved(moving, instructions_of(trace));
    EXPECT_GT(moving.mover.moved_pages, 50U);
    expect_conserved(simulate(trace, gpu, Threshold(1)), instructions_of(trace));
  }
}

TEST(GpuSimulator, RepeatedRun_IsTheSameToTheCycle) {
  const auto trace = mixed(1);
  const auto gpu = test_gpu();
  const auto once = simulate(trace, gpu, RandomMover(1));
  const auto again = simulate(trace, gpu, RandomMover(1));
  EXPECT_EQ(once.cycles, again.cycles);
  EXPECT_EQ(once.events, again.events);
}

TEST(GpuSimulator, InfiniteThreshold_EqualsCoherentAccess) {
  const auto trace = mixed(2);
  const auto gpu = test_gpu();
  const auto coherent = simulate(trace, gpu, FractionPagePlacement(0));
  const auto threshold = simulate(trace, gpu, Threshold(0xffffffff));
  EXPECT_EQ(threshold.cycles, coherent.cycles);
  EXPECT_EQ(threshold.mover.moved_pages, 0U);
}

TEST(GpuSimulator, CapacityReached_StopsMoves) {
  const auto trace = mixed(3);
  const auto gpu = test_gpu();
  const auto run = simulate(trace, gpu, Threshold(1), {10 * 4096, k_all});
  EXPECT_EQ(run.mover.moved_pages, 10U);
  EXPECT_GT(run.mover.refused, 0U);
}

// Kernels of a few CTAs each: every SM gets some.
TEST(GpuSimulator, SmallKernels_SpreadOverTheSms) {
  StoredTrace trace;
  Device device(trace);
  auto x = device.array<float>("x", 1024);
  for (int k = 0; k < 15; ++k)
    device.launch({"small", 2, 32}, [&](Thread& t) { static_cast<void>(t.load(x, t.index()) + 1.0F); });
  const auto run = simulate(trace, test_gpu(), FractionPagePlacement(1));
  for (const auto& processor : run.processors) EXPECT_EQ(processor.accesses, 2U);
}

// Each shootdown is counted, and an untouched page costs none.
TEST(GpuSimulator, Shootdowns_StallAllSms) {
  const auto trace = mixed(2);
  auto gpu = test_gpu();
  for (const std::uint32_t shootdown : {0U, 100U, 500U}) {
    gpu.shootdown = shootdown;
    const auto run = simulate(trace, gpu, Threshold(1));
    EXPECT_EQ(run.mover.stopped_cycles, shootdown * (run.mover.moved_pages - run.mover.without_shootdown));
  }
}

TEST(GpuSimulator, KernelLargerThanAnSm_IsRejected) {
  const auto said = [](const Kernel& kernel) -> std::string {
    StoredTrace trace;
    trace.begin(kernel);
    auto gpu = test_gpu();
    gpu.warps = 24;
    gpu.registers = 16384;
    gpu.shared_bytes = 48 << 10;
    try {
      simulate(trace, gpu, FractionPagePlacement(0));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid);
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(said({"large", 1, 32, 20, 64 << 10}),
            "a CTA of the kernel large needs 65536 bytes of shared memory, more than an SM has, 49152; "
            "launch smaller CTAs, or name a machine with a larger GPU by --machine");
  EXPECT_EQ(said({"large", 1, 768, 22, 0}),
            "a CTA of the kernel large needs 16896 registers, more than an SM has, 16384; "
            "launch smaller CTAs, or name a machine with a larger GPU by --machine");
  EXPECT_EQ(said({"large", 1, 769, 20, 0}),
            "a CTA of the kernel large needs 25 warps, more than an SM has, 24; "
            "launch smaller CTAs, or name a machine with a larger GPU by --machine");
}

// A load of 32 missing lines: one cycle of lookup, and misses in the others.
TEST(GpuSimulator, AccessWithAMissingPart_CountsAsAMiss) {
  StoredTrace trace;
  Device device(trace);
  auto x = device.array<float>("x", 32 * 32);
  device.launch({"scattered", 1, 32}, [&](Thread& t) { static_cast<void>(t.load(x, t.thread() * 32) + 1.0F); });
  const auto run = simulate(trace, test_gpu(), FractionPagePlacement(1));
  const auto warps = camat_sum(run.camat.l1_by_warp);
  EXPECT_EQ(warps.accesses, 1U);
  EXPECT_EQ(warps.pure_misses, 1U);
  EXPECT_EQ(warps.hit_cycles, test_gpu().l1.latency);
  EXPECT_EQ(warps.pure_access_cycles, warps.pure_miss_cycles);
  EXPECT_EQ(camat_sum(run.camat.l1_by_part).hit_access_cycles, 32U);
}

TEST(GpuSimulator, Intervals_AddUpToTheRun) {
  const auto gpu = test_gpu();
  const auto trace = mixed(3);
  for (const Cycle every : {1, 7, 1000, 1000000}) {
    Replay replay(trace);
    RandomMover placement(5);
    const auto run = Simulator(gpu, replay, placement, {k_all, k_all}).run({.by_kernel = true, .every = every});
    expect_conserved(run, instructions_of(trace), gpu.page_bytes);
    // The kernels, and the write-backs after them.
    ASSERT_EQ(run.camat_by_kernel.size(), 4U);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(run.camat_by_kernel[i].kernel, "mixed");
      EXPECT_EQ(run.camat_by_kernel[i].end, run.kernels[i].end);
    }
    const auto& rest = run.camat_by_kernel.back();
    EXPECT_EQ(rest.kernel, "");
    EXPECT_EQ(camat_sum(rest.levels.l1_by_warp).accesses, 0U);
    EXPECT_GT(camat_sum(rest.levels.dram).accesses, 0U);
    for (std::size_t i = 0; i + 1 < run.camat_over_time.size(); ++i)
      EXPECT_EQ(run.camat_over_time[i].end, (i + 1) * every);
    EXPECT_EQ(run.camat_over_time.size(), (rest.end + every - 1) / every);
  }
}

// The chase's closed form: one access at a time, so every interval in which loads begin and end alike has the
// latency of one as its C-AMAT, and one cycle of each is the lookup.
TEST(GpuSimulator, ChaseIntervals_HaveTheLatencyAsCamat) {
  const auto gpu = test_gpu();
  const auto trace = chase(4096, 2000);
  Replay replay(trace);
  FractionPagePlacement placement(1);
  const auto run = Simulator(gpu, replay, placement, {k_all, k_all}).run({.by_kernel = false, .every = 10000});
  for (const auto& part : run.camat_over_time) {
    const auto loads = camat_sum(part.levels.l1_by_part);
    EXPECT_EQ(loads.hit_cycles, loads.accesses * gpu.l1.latency);
    EXPECT_EQ(loads.hit_access_cycles, loads.hit_cycles);
    EXPECT_EQ(loads.pure_access_cycles, loads.pure_miss_cycles);
    EXPECT_LE(loads.misses, loads.pure_misses + 1);
  }
}

// Pages of a second allocation count, too, and existing pages are not placed again.
TEST(GpuSimulator, PagesWithoutCapacity_AreCounted) {
  StoredTrace trace;
  const auto page = test_gpu().page_bytes;
  trace.add(Allocation{"x", 0, 10 * page});
  trace.add(Allocation{"y", 8 * page, 10 * page});
  trace.begin({"empty", 1, 32, 0, 0});
  Cta cta;
  cta.warps.resize(1);
  trace.add(cta);
  const auto placed = [&](double share, std::uint64_t capacity) {
    Replay replay(trace);
    FractionPagePlacement pages(share);
    const auto gpu = test_gpu();
    const auto run = Simulator(gpu, replay, pages, {capacity, k_all}).run();
    EXPECT_EQ(run.pages.size(), 18U);
    return std::pair(run.placed_pages, run.no_room_pages);
  };
  EXPECT_EQ(placed(1, k_all), std::pair(std::uint64_t{18}, std::uint64_t{0}));
  EXPECT_EQ(placed(1, 12 * page), std::pair(std::uint64_t{12}, std::uint64_t{6}));
  EXPECT_EQ(placed(1, 0), std::pair(std::uint64_t{0}, std::uint64_t{18}));
  EXPECT_EQ(placed(0, 0), std::pair(std::uint64_t{0}, std::uint64_t{0}));
}

TEST(GpuSimulator, AddressesOutsideAllocations_AreRejected) {
  StoredTrace trace;
  trace.begin({"stray", 1, 32, 0, 0});
  Cta cta;
  cta.warps.push_back({0, 0, 1, 0});
  cta.steps.push_back({0, 0, StepKind::load, 32, 1});
  cta.lines.emplace_back(1, 1);
  trace.add(cta);
  try {
    simulate(trace, test_gpu(), FractionPagePlacement(0));
    ADD_FAILURE() << "it was simulated";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "the kernel stray accesses 0x80, which is in no allocation; for an Accel-Sim trace, name the "
                 "allocation in --allocations FILE");
  }
}

}  // namespace
}  // namespace terrace::gpu_sim
