// Tests policies and placements of pages on the GPU: their requests, and their effect on a program.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "gpu_sim/engine/simulator.hpp"
#include "gpu_sim/engine/tiering_policy_adapter.hpp"
#include "gpu_sim/simt/device.hpp"
#include "machine.hpp"
#include "strategy/tiering/touch_policy.hpp"
#include "strategy/variant.hpp"
#include "traces.hpp"

namespace terrace::gpu_sim {
namespace {

RunCounts run_with(const StoredTrace& trace, const machine::Gpu& gpu, PagePlacement& placement) {
  Replay replay(trace);
  return Simulator(gpu, replay, placement, {k_all, k_all}).run();
}

RunCounts run_rules(const StoredTrace& trace, const machine::Gpu& gpu, strategy::TouchRules rules) {
  TieringPolicyAdapter placement(gpu, std::make_unique<strategy::TouchPolicy>(rules), k_all);
  return run_with(trace, gpu, placement);
}

RunCounts run_shared(const StoredTrace& trace, const machine::Gpu& gpu, double share) {
  FractionPagePlacement placement(share);
  return run_with(trace, gpu, placement);
}

// Sweeps over an array repeatedly.
StoredTrace sweeps(std::int32_t count, std::int32_t ctas = 300) {
  StoredTrace trace;
  Device device(trace);
  auto x = device.array<float>("x", static_cast<std::size_t>(ctas) * 1024);
  auto y = device.array<float>("y", static_cast<std::size_t>(ctas) * 1024);
  for (std::int32_t sweep = 0; sweep < count; ++sweep)
    device.launch({"sweep", ctas, 256}, [&](Thread& t) {
      for (const auto i : t.range(0, 4)) {
        const auto at = t.block() * 1024 + i * 256 + t.thread();
        t.store(y, at, t.load(x, at) + 1.0F);
      }
    });
  return trace;
}

struct Bench {
  memory::ChunkTable chunks;
  strategy::Tiers tiers;
  Bench(std::uint32_t first, std::uint32_t second) {
    for (std::uint32_t i = 0; i < first + second; ++i) chunks.add(i * 4096, 4096, i < first ? 0 : 1, 0, 1);
    tiers.chunks = &chunks;
    tiers.capacity = tiers.free = Bytes{1 << 30};
    tiers.fast = 0;
    tiers.slow = 1;
    tiers.fast_bandwidth = BytesPerSecond{200e9};
    tiers.slow_bandwidth = BytesPerSecond{80e9};
  }
  std::vector<ChunkId> asked_by(strategy::Policy& policy, ChunkId chunk) const {
    strategy::PolicyChoice choice;
    policy.on_touch(chunk, tiers, choice);
    std::vector<ChunkId> asked;
    for (const auto& move : choice.moves) {
      EXPECT_EQ(move.to, 0);
      asked.push_back(move.chunk);
    }
    return asked;
  }
};

TEST(TouchPolicy, TouchedPage_IsPromotedOnce) {
  const Bench bench(100, 100);
  strategy::TouchPolicy policy({.threshold = 64});
  EXPECT_EQ(policy.needs().touches, 64U);
  EXPECT_EQ(bench.asked_by(policy, 7), (std::vector<ChunkId>{7}));
  EXPECT_TRUE(bench.asked_by(policy, 7).empty());  // its move is pending
}

// The farthest page first, within the object; pages missing on one side are added on the other.
TEST(TouchPolicy, Range_ExpandsWithinTheObject) {
  const Bench bench(100, 100);
  strategy::TouchPolicy policy({.threshold = 1, .range = 4});
  EXPECT_EQ(bench.asked_by(policy, 50), (std::vector<ChunkId>{50, 48, 52, 49, 51}));
  EXPECT_EQ(bench.asked_by(policy, 0), (std::vector<ChunkId>{0, 4, 3, 2, 1}));
  EXPECT_EQ(bench.asked_by(policy, 99), (std::vector<ChunkId>{99, 95, 96, 97, 98}));
  EXPECT_EQ(bench.asked_by(policy, 100), (std::vector<ChunkId>{100, 104, 103, 102, 101}));
  strategy::TouchPolicy wide({.threshold = 1, .range = 128});
  EXPECT_EQ(bench.asked_by(wide, 20).size(), 100U);
}

TEST(TouchPolicy, TrafficShareReached_StopsPromotion) {
  const Bench bench(10, 0);
  strategy::TouchPolicy policy({.threshold = 1, .range = 0, .balanced = true});
  const auto share_at = [&](double fast) {
    observe::Observation seen;
    seen.places.resize(2);
    seen.places[0].reads = fast;
    seen.places[1].reads = 1 - fast;
    strategy::PolicyChoice choice;
    // Often enough that the average is this value.
    for (int i = 0; i < 40; ++i) policy.decide(seen, bench.tiers, choice);
    return choice.mover_share.value();
  };
  EXPECT_EQ(share_at(0), 1);
  EXPECT_EQ(share_at(0.66), 1);
  EXPECT_EQ(share_at(0.67), 0.5);
  EXPECT_EQ(share_at(0.71), 0.5);
  EXPECT_EQ(share_at(0.72), 0);
  EXPECT_EQ(share_at(0.5), 1);
}

TEST(GpuPolicies, InfiniteThreshold_IsAccessOverTheLink) {
  const auto trace = sweeps(3);
  const auto gpu = test_gpu();
  EXPECT_EQ(run_rules(trace, gpu, {.threshold = 0xffffffff}).cycles, run_shared(trace, gpu, 0).cycles);
}

// On reused data: moves pay, neighbours save shootdowns, and no policy beats the oracle's placement from the
// beginning.
TEST(GpuPolicies, ReusedData_PoliciesRankAsPublished) {
  const auto trace = sweeps(6, 1000);
  const auto gpu = test_gpu();
  const auto remote = run_shared(trace, gpu, 0);
  const auto one = run_rules(trace, gpu, {.threshold = 1});
  const auto range = run_rules(trace, gpu, {.threshold = 1, .range = 128});
  const auto balanced = run_rules(trace, gpu, {.threshold = 1, .range = 128, .balanced = true});
  EXPECT_LT(one.cycles, remote.cycles);
  EXPECT_LT(range.cycles, one.cycles);
  EXPECT_EQ(one.mover.without_shootdown, 0U);
  EXPECT_GT(range.mover.without_shootdown, 0U);

  std::vector<std::uint64_t> traffic;
  for (const auto& page : remote.pages) traffic.push_back(page.accesses);
  ListedPagePlacement best(oracle_placement(traffic, 5.0 / 7, traffic.size()));
  const auto oracle_run = run_with(trace, gpu, best);
  for (const auto* run : {&one, &range, &balanced}) EXPECT_LE(oracle_run.cycles, run->cycles);
  EXPECT_LT(static_cast<double>(remote.cycles) / static_cast<double>(oracle_run.cycles), 3.5);
}

// A GPU of one SM reaches pages so slowly that most of them have moved before.
TEST(GpuPolicies, SlowProgram_RangeExpansionMovesBeforeAccess) {
  const auto trace = sweeps(1, 300);
  auto gpu = test_gpu();
  gpu.processors = 1;
  const auto range = run_rules(trace, gpu, {.threshold = 1, .range = 16});
  EXPECT_GT(range.mover.without_shootdown, range.mover.moved_pages / 2);
}

// Once the GPU's own memory serves more than its share, moves stop: pages accessed later stay in far memory as
// long as they are a small part of the traffic.
TEST(GpuPolicies, BalancedTraffic_StopsMoves) {
  StoredTrace trace;
  Device device(trace);
  constexpr std::int32_t ctas = 600;
  constexpr std::int32_t sweeps = 20;
  auto often = device.array<float>("often", ctas * 1024);
  auto once = device.array<float>("once", ctas * 1024);
  for (std::int32_t sweep = 0; sweep < sweeps; ++sweep)
    device.launch({"sweep", ctas, 256}, [&](Thread& t) {
      for (const auto i : t.range(0, 4))
        static_cast<void>(t.load(often, t.block() * 1024 + i * 256 + t.thread()) + 1.0F);
      if (t.block() % sweeps == sweep) static_cast<void>(t.load(once, t.block() * 1024 + t.thread()) + 1.0F);
    });
  const auto gpu = test_gpu();
  const auto all = run_rules(trace, gpu, {.threshold = 1});
  EXPECT_GT(all.mover.moved_pages, 1.9 * ctas);
  const auto balanced = run_rules(trace, gpu, {.threshold = 1, .balanced = true});
  EXPECT_LT(balanced.mover.moved_pages, 1.6 * ctas);
}

TEST(GpuPolicies, Oracle_TakesTheFewestPages) {
  const std::vector<std::uint64_t> traffic{5, 50, 0, 20, 25};
  EXPECT_EQ(oracle_placement(traffic, 0.5, 9), (std::vector<std::uint8_t>{1, 0, 1, 1, 1}));
  EXPECT_EQ(oracle_placement(traffic, 0.7, 9), (std::vector<std::uint8_t>{1, 0, 1, 1, 0}));
  EXPECT_EQ(oracle_placement(traffic, 1, 9), (std::vector<std::uint8_t>{0, 0, 1, 0, 0}));
  EXPECT_EQ(oracle_placement(traffic, 1, 1), (std::vector<std::uint8_t>{1, 0, 1, 1, 1}));
}

TEST(GpuPolicies, FractionPlacement_IsExact) {
  for (const double share : {0.0, 0.25, 5.0 / 7, 1.0}) {
    FractionPagePlacement placement(share);
    const auto memories = placement.initial_memories({}, 7000);
    const auto own = std::count(memories.begin(), memories.end(), 0);
    EXPECT_NEAR(static_cast<double>(own), share * 7000, 1) << share;
  }
}

// Stores the bandwidths that the policy receives.
class Listening final : public strategy::Policy {
 public:
  explicit Listening(std::vector<double>& told) : told_(told) {}
  [[nodiscard]] strategy::PolicyNeeds needs() const override { return {.interval = {}, .touches = 1}; }
  void decide(const observe::Observation&, const strategy::Tiers&, strategy::PolicyChoice&) override {}
  void on_touch(ChunkId, const strategy::Tiers& tiers, strategy::PolicyChoice&) override {
    told_ = {tiers.fast_bandwidth.value, tiers.slow_bandwidth.value};
  }

 private:
  std::vector<double>& told_;
};

TEST(GpuPolicies, Policies_GetTheLinksBandwidth) {
  const auto trace = sweeps(1, 10);
  auto gpu = test_gpu();
  for (const auto& [link, slow] : {std::pair(0.0, 80e9), std::pair(12e9, 12e9), std::pair(450e9, 80e9)}) {
    gpu.memories[1].link_bytes_per_second = link;
    std::vector<double> told;
    TieringPolicyAdapter placement(gpu, std::make_unique<Listening>(told), k_all);
    run_with(trace, gpu, placement);
    EXPECT_EQ(told, (std::vector<double>{200e9, slow}));
  }
}

}  // namespace
}  // namespace terrace::gpu_sim
