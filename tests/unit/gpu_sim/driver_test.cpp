// Tests policies that move pages by faults, access counters and samples, and their costs.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "conservation.hpp"
#include "core/error.hpp"
#include "gpu_sim/engine/simulator.hpp"
#include "gpu_sim/engine/tiering_policy_adapter.hpp"
#include "gpu_sim/simt/device.hpp"
#include "machine.hpp"
#include "strategy/tiering/gpu_policies.hpp"
#include "strategy/tiering/policy_variant.hpp"
#include "strategy/tiering/unified_memory.hpp"
#include "traces.hpp"

namespace terrace::gpu_sim {
namespace {

constexpr std::uint64_t k_page = 4096;

// Reads all of an array and writes another, the given number of times.
StoredTrace passes(std::int32_t ctas, std::int32_t count) {
  StoredTrace trace;
  Device device(trace);
  auto x = device.array<float>("x", static_cast<std::size_t>(ctas) * 1024);
  auto y = device.array<float>("y", static_cast<std::size_t>(ctas) * 1024);
  for (std::int32_t pass = 0; pass < count; ++pass)
    device.launch({"pass", ctas, 256}, [&](Thread& t) {
      for (const auto i : t.range(0, 4)) {
        const auto at = t.block() * 1024 + i * 256 + t.thread();
        t.store(y, at, t.load(x, at) + 1.0F);
      }
    });
  return trace;
}

RunCounts run_policy(const StoredTrace& trace, const machine::Gpu& gpu, const std::string& name,
                     const strategy::TouchRules& rules = {}, std::uint64_t own = 1 << 30) {
  Replay replay(trace);
  TieringPolicyAdapter placement(gpu, strategy::make_gpu_policy(name, rules), own);
  auto run = Simulator(gpu, replay, placement, {own, k_all}).run();
  expect_conserved(run, instructions_of(trace));
  const auto there =
      std::count_if(run.pages.begin(), run.pages.end(), [](const auto& p) { return p.memory == 0; });
  EXPECT_LE(static_cast<std::uint64_t>(there) * k_page, own) << name;
  return run;
}

std::uint64_t demand_of(const RunCounts& run, std::uint32_t memory) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < run.channels.size(); ++i)
    if (run.memory_of_channel[i] == memory) bytes += run.channels[i].demand_bytes();
  return bytes;
}

std::uint64_t fills_of(const RunCounts& run) {
  std::uint64_t bytes = 0;
  for (const auto& channel : run.channels) bytes += channel.fill_bytes;
  return bytes;
}

// All accesses are to the GPU's own memory, as if all pages had been there; each page moves once.
TEST(GpuFaults, FreeFirstTouch_AllAccessesAreLocal) {
  const auto trace = passes(300, 3);
  auto gpu = test_gpu();
  gpu.fault = 0;
  gpu.shootdown = 0;
  Replay replay(trace);
  FractionPagePlacement all(1);
  const auto local = Simulator(gpu, replay, all, {k_all, k_all}).run();
  const auto faulting = run_policy(trace, gpu, "migrate-on-fault");
  EXPECT_EQ(demand_of(faulting, 1), 0U);
  EXPECT_EQ(fills_of(faulting), fills_of(local));
  EXPECT_EQ(faulting.mover.moved_pages, 600U);
  EXPECT_EQ(faulting.faults.faults, 600U);
  EXPECT_EQ(faulting.mover.without_shootdown, 600U);
  // The later passes find all pages in place.
  const auto last = [](const RunCounts& run) { return run.kernels.back().end - run.kernels.back().begin; };
  EXPECT_NEAR(static_cast<double>(last(faulting)), static_cast<double>(last(local)),
              0.02 * static_cast<double>(last(local)));
}

// Batches are handled sequentially, each for the time that the machine states.
TEST(GpuFaults, Batches_TakeTheStatedTime) {
  const auto trace = passes(100, 1);
  auto gpu = test_gpu();
  for (const std::uint32_t batch : {1U, 16U, 256U}) {
    gpu.fault_batch = batch;
    const auto run = run_policy(trace, gpu, "migrate-on-fault");
    EXPECT_GE(run.faults.batches, (200 + batch - 1) / batch);
    EXPECT_GE(run.cycles, run.faults.batches * gpu.fault);
  }
}

TEST(GpuFaults, Prefetching_SavesFaults) {
  const auto trace = passes(1024, 1);  // 4 MiB in each direction
  const auto gpu = test_gpu();
  const auto alone = run_policy(trace, gpu, "migrate-on-fault");
  const auto tree = run_policy(trace, gpu, "unified-memory");
  EXPECT_EQ(alone.faults.faults, 2048U);
  EXPECT_EQ(tree.mover.moved_pages, 2048U);
  EXPECT_LT(tree.faults.batches, alone.faults.batches);
  EXPECT_LT(tree.cycles, alone.cycles);
}

// Half of the program's data fits.
TEST(GpuFaults, Oversubscription_EvictsWholeBlocks) {
  const auto trace = passes(2048, 2);
  const auto gpu = test_gpu();
  const auto run = run_policy(trace, gpu, "unified-memory", {}, 8 << 20);
  EXPECT_GT(run.mover.moved_pages, 4096U);
  std::set<std::uint64_t> partly;
  for (const auto& page : run.pages)
    if (page.memory == 0) partly.insert(page.number * k_page >> 21);
  EXPECT_LE(partly.size(), 6U);
}

// Every policy, with and without capacity: pages are conserved, the run finishes, and the capacity is kept.
TEST(GpuFaults, EveryPolicy_FinishesWithoutLoss) {
  const auto trace = passes(300, 2);
  auto gpu = test_gpu();
  gpu.fault = 1000;
  for (const auto& name : strategy::gpu_policy_names())
    for (const std::uint64_t own : {std::uint64_t{1} << 30, std::uint64_t{1} << 20, std::uint64_t{0}}) {
      const auto run = run_policy(trace, gpu, name, {.threshold = 2, .range = 16}, own);
      if (own == 0) {
        EXPECT_EQ(run.mover.moved_pages, 0U) << name;
      }
    }
}

TEST(GpuPolicies, Eviction_KeepsTheLatestArrivals) {
  const auto trace = passes(500, 2);
  const auto gpu = test_gpu();
  const std::uint64_t own = 256 * k_page;
  const auto kept = run_policy(trace, gpu, "touch", {.threshold = 1}, own);
  EXPECT_EQ(kept.mover.moved_pages, 256U);
  const auto evicting = run_policy(trace, gpu, "touch", {.threshold = 1, .evicts = true}, own);
  EXPECT_GT(evicting.mover.moved_pages, 2 * 256U);
}

// Protects all far pages, and moves those that fault.
class Hinting final : public strategy::Policy {
 public:
  explicit Hinting(std::vector<observe::Observation>& seen) : seen_(seen) {}
  [[nodiscard]] strategy::PolicyNeeds needs() const override { return {Seconds{50e-6}, 0, Seconds{1e-6}}; }
  void decide(const observe::Observation& seen, const strategy::Tiers& tiers,
              strategy::PolicyChoice& choice) override {
    seen_.push_back(seen);
    for (const auto& fault : seen.faults) choice.moves.push_back({fault.chunk, tiers.fast});
    for (ChunkId chunk = 0; chunk < tiers.chunks->size(); ++chunk)
      if (tiers.is_on(chunk, tiers.slow)) choice.protect.push_back(chunk);
  }

 private:
  std::vector<observe::Observation>& seen_;
};

TEST(GpuPolicies, HintFaults_CountAsFaults) {
  const auto trace = passes(300, 20);
  auto gpu = test_gpu();
  gpu.fault = 1000;
  std::vector<observe::Observation> seen;
  TieringPolicyAdapter placement(gpu, std::make_unique<Hinting>(seen), 1 << 30);
  Replay replay(trace);
  const auto run = Simulator(gpu, replay, placement, {k_all, k_all}).run();
  expect_conserved(run, instructions_of(trace));
  ASSERT_GT(seen.size(), 3U);
  std::uint64_t faults = 0;
  for (const auto& look : seen) {
    faults += look.faults.size();
    for (const auto& fault : look.faults) EXPECT_GE(fault.latency.value * gpu.hertz, gpu.fault);
    EXPECT_NEAR(look.length.value, 50e-6, 1e-9);
    EXPECT_GE(look.stalled.value, 0);
    EXPECT_LE(look.stalled.value, look.length.value);
  }
  EXPECT_TRUE(seen.front().faults.empty());
  EXPECT_FALSE(seen.front().touched.empty());
  EXPECT_GT(faults, 0U);
  EXPECT_LE(faults, run.faults.faults);
  EXPECT_GT(run.mover.forbidden_pages, 0U);
  EXPECT_GT(run.mover.moved_pages, 0U);
  EXPECT_LE(run.mover.moved_pages, faults);
}

// Samples are written to memory, eight bytes each.
TEST(GpuPolicies, ProcessorPolicies_GetTheirSamples) {
  const auto trace = passes(300, 30);
  const auto memtis = run_policy(trace, test_gpu(), "memtis");
  std::uint64_t asked = 0;
  for (const auto& page : memtis.pages) asked += page.accesses;
  EXPECT_EQ(memtis.samples, asked / 199);
  EXPECT_GT(memtis.mover.moved_pages, 0U);
}

// A CPU strategy rejects policies that need information which CPUs do not provide.
TEST(GpuPolicies, PoliciesByTouchesOrFaults_AreNotOfferedForProcessors) {
  const strategy::Context none{};
  for (const std::string name : {"touch", "migrate-on-fault", "even"})
    EXPECT_THROW(static_cast<void>(strategy::start_policy(strategy::make_gpu_policy(name, {}), none)), Error);
}

TEST(GpuPolicies, Names_AreFound) {
  EXPECT_THROW(static_cast<void>(strategy::make_gpu_policy("nobody", {})), Error);
}

// Interleaved data gives a sweep both memories' bandwidths from the start; if all data starts in far memory,
// promoted pages have not been accessed yet.
TEST(EvenPolicy, InterleavedSweep_UsesBothBandwidths) {
  const auto trace = passes(1000, 4);
  const auto gpu = test_gpu();
  Replay replay(trace);
  FractionPagePlacement none(0);
  const auto remote = Simulator(gpu, replay, none, {k_all, k_all}).run();
  const auto placed = run_policy(trace, gpu, "even");
  EXPECT_EQ(placed.mover.moved_pages, 0U);
  EXPECT_NEAR(static_cast<double>(placed.placed_pages), 2000 * 5.0 / 7, 2);
  EXPECT_GT(static_cast<double>(remote.cycles), 3 * static_cast<double>(placed.cycles));
  const auto moved = run_policy(trace, gpu, "even-moves");
  EXPECT_EQ(moved.placed_pages, 0U);
  EXPECT_GT(moved.mover.without_shootdown, 0U);
  EXPECT_LT(moved.cycles, remote.cycles);
}

// --- the driver's rules, one by one ---

struct DriverBench {
  memory::ChunkTable chunks;
  strategy::Tiers tiers;
  strategy::UnifiedMemoryPolicy driver;
  explicit DriverBench(strategy::UnifiedMemoryMode mode, std::uint64_t room, std::uint32_t count = 2048)
      : driver(mode) {
    for (std::uint32_t i = 0; i < count; ++i) chunks.add(i * k_page, k_page, 0, 0, 1);
    tiers.chunks = &chunks;
    tiers.fast = 0;
    tiers.slow = 1;
    tiers.capacity = tiers.free = Bytes{room};
  }
  // Executes the policy's requests at once.
  std::vector<transfer::TransferRequest> done(const strategy::PolicyChoice& choice) {
    for (const auto& move : choice.moves) {
      chunks.put(chunks[move.chunk], move.to);
      tiers.free = Bytes{tiers.free.value + (move.to == 1 ? k_page : 0) - (move.to == 0 ? k_page : 0)};
    }
    return choice.moves;
  }
  std::vector<transfer::TransferRequest> fault(ChunkId chunk) {
    strategy::PolicyChoice choice;
    driver.on_fault(std::vector{chunk}, tiers, choice);
    return done(choice);
  }
};

// A rejected page holds no capacity, and may be requested again.
TEST(PromotionFifo, RejectedMove_LeavesChunkInPlace) {
  DriverBench bench(strategy::UnifiedMemoryMode::first_touch, 2 * k_page, 8);
  strategy::PromotionFifo arrivals;
  strategy::PolicyChoice choice;
  arrivals.promote(0, bench.tiers, choice);
  arrivals.promote(1, bench.tiers, choice);
  EXPECT_EQ(arrivals.free_bytes(bench.tiers), 0U);
  arrivals.on_move_rejected(0);
  EXPECT_EQ(arrivals.free_bytes(bench.tiers), k_page);
  EXPECT_FALSE(arrivals.is_promoted(0));
  bench.done({.moves = {{1, 0}}, .protect = {}, .mover_share = {}});
  EXPECT_EQ(arrivals.pop_oldest(bench.tiers), std::optional<ChunkId>(1));
  arrivals.demote(1, bench.tiers, choice);
  EXPECT_EQ(arrivals.free_bytes(bench.tiers), 2 * k_page);
  arrivals.on_move_rejected(1);
  EXPECT_EQ(arrivals.free_bytes(bench.tiers), k_page);
  EXPECT_TRUE(arrivals.is_promoted(1));
  EXPECT_EQ(arrivals.num_promoted(), 1U);
}

// Requests the promotion of each page, and at the next interval its demotion.
class AlternatingMover final : public PagePlacement {
 public:
  [[nodiscard]] Cycle interval() const override { return 400; }
  void decide(const IntervalEvents&, const PageTable& pages, PageMover& mover) override {
    const auto where = static_cast<std::uint8_t>(looks_++ % 2);
    for (std::uint32_t page = 0; page < pages.size(); ++page) mover.request_move(page, where);
  }

 private:
  std::uint32_t looks_ = 0;
};

// Far more moves are requested than can be done: the last request counts, and no access waits for ever.
TEST(GpuPolicies, ConflictingRequests_LastOneCounts) {
  const auto trace = passes(300, 2);
  Replay replay(trace);
  AlternatingMover placement;
  const auto gpu = test_gpu();
  const auto run = Simulator(gpu, replay, placement, {64 * k_page, k_all}).run();
  expect_conserved(run, instructions_of(trace));
  EXPECT_GT(run.mover.moved_pages, 0U);
}

// Within 2 MiB, the tree selects the largest aligned part around the fault of which more than 51 % are present.
TEST(UnifiedMemory, DenseBlocks_AreFetchedWhole) {
  std::mt19937 random(7);
  for (int turn = 0; turn < 20; ++turn) {
    DriverBench bench(strategy::UnifiedMemoryMode::prefetch, 1 << 30, 1024);
    std::vector<bool> there(1024);
    while (std::count(there.begin(), there.end(), false) != 0) {
      ChunkId chunk = static_cast<ChunkId>(random() % 1024);
      if (there[chunk]) continue;
      std::uint32_t begin = chunk / 16 * 16, end = begin + 16;
      const auto leaf = begin;
      for (std::uint32_t size = 32; size <= 512; size *= 2) {
        const auto from = chunk / size * size;
        std::uint32_t dense = 0;
        for (auto i = from; i < from + size; ++i) dense += there[i] || i / 16 == leaf / 16 ? 1U : 0U;
        if (dense * 100 > 51 * size) begin = from, end = from + size;
      }
      std::set<ChunkId> expected, asked;
      for (auto i = begin; i < end; ++i)
        if (!there[i]) expected.insert(i);
      for (const auto& move : bench.fault(chunk)) asked.insert(move.chunk);
      ASSERT_EQ(asked, expected);
      for (const auto i : expected) there[i] = true;
    }
  }
}

// Capacity for one block and a half: the first block is evicted whole for the third.
TEST(UnifiedMemory, Eviction_FollowsTheOrderOfAllocation) {
  DriverBench bench(strategy::UnifiedMemoryMode::first_touch, 768 * k_page);
  for (ChunkId chunk = 0; chunk < 768; ++chunk) EXPECT_EQ(bench.fault(chunk).size(), 1U);
  const auto moves = bench.fault(1024);
  ASSERT_EQ(moves.size(), 513U);
  for (ChunkId chunk = 0; chunk < 512; ++chunk) EXPECT_EQ(bench.chunks[chunk].place, 1);
  EXPECT_EQ(bench.chunks[600].place, 0);
  EXPECT_EQ(bench.chunks[1024].place, 0);
}

TEST(UnifiedMemory, AccessCounters_CoverBlocksOf64KiB) {
  DriverBench bench(strategy::UnifiedMemoryMode::access_counters, 1 << 30);
  const auto touches = bench.driver.needs().touches;
  EXPECT_FALSE(bench.driver.needs().faults);
  std::uint32_t told = 0;
  for (strategy::PolicyChoice choice; choice.moves.empty(); ++told) {
    bench.driver.on_touch(16 + told % 16, bench.tiers, choice);
    if (choice.moves.empty()) continue;
    ASSERT_EQ(choice.moves.size(), 16U);
    for (std::uint32_t i = 0; i < 16; ++i) EXPECT_EQ(choice.moves[i].chunk, 16 + i);
  }
  EXPECT_EQ(told * touches, 256U);
}

}  // namespace
}  // namespace terrace::gpu_sim
