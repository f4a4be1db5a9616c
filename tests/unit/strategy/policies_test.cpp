// Tests policies with given observations: what each moves and protects, and that none requests more than fits.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/error.hpp"
#include "strategy/planner.hpp"
#include "strategy/policy.hpp"
#include "strategy/tiering/promotion.hpp"
#include "two_places.hpp"

namespace terrace::strategy {
namespace {

constexpr std::uint32_t k_chunk = 2 << 20;
using Moves = std::vector<std::pair<ChunkId, PlaceId>>;

// Chunks of 2 MiB on fast or slow memory, and an observation in which nothing has happened for a millisecond.
struct Bench {
  explicit Bench(std::vector<PlaceId> places, std::uint32_t room = 0) {
    for (const auto place : places) chunks.add(chunks.size() * k_chunk, k_chunk, 0, 0, place);
    const auto held = static_cast<std::uint64_t>(std::count(places.begin(), places.end(), k_fast)) * k_chunk;
    tiers = {&chunks,
             0,
             k_fast,
             k_slow,
             Bytes{held + std::uint64_t{room} * k_chunk},
             Bytes{std::uint64_t{room} * k_chunk}};
    clear();
  }
  void clear() {
    seen = {};
    seen.length = Seconds{1e-3};
    seen.places = {{0, 0, Seconds{86e-9}}, {0, 0, Seconds{344e-9}}};
  }
  void touch(ChunkId chunk, std::uint32_t samples) {
    seen.touched.push_back(chunk);
    if (samples > 0) seen.samples.push_back({chunk, samples, 0});
  }
  Moves decide(Policy& policy) {
    choice = {};
    policy.decide(seen, tiers, choice);
    Moves moves;
    for (const auto& move : choice.moves) moves.emplace_back(move.chunk, move.to);
    return moves;
  }

  memory::ChunkTable chunks;
  Tiers tiers;
  observe::Observation seen;
  PolicyChoice choice;
};

TEST(Policies, EachName_IsFound) {
  for (const std::string name : {"kernel-tiering", "memtis", "colloid", "alto"}) {
    const auto& variant = find_variant(name);
    EXPECT_EQ(variant.planner(), nullptr) << name;
    EXPECT_TRUE(variant.policy_needs()) << name;
    EXPECT_GT(variant.policy_needs()->interval.value, 0) << name;
  }
  EXPECT_FALSE(find_variant("auto").policy_needs());
}

TEST(Policies, PolicyAsPlanner_IsRejectedInOneLine) {
  for (const std::string name : {"memtis", "cache-mode"}) {
    try {
      find_planner(name);
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid);
      EXPECT_NE(std::string(error.what()).find("terrace simulate"), std::string::npos);
    }
  }
}

TEST(PromoteAndEvict, FullFastMemory_EvictsOnlyAsNeeded) {
  Bench bench({k_fast, k_fast, k_fast, k_slow, k_slow}, 1);
  PolicyChoice choice;
  const auto always = [](auto, auto) { return true; };
  EXPECT_EQ(promote_and_evict(bench.tiers, std::vector<ChunkId>{3, 4}, std::vector<ChunkId>{1, 0, 2}, Bytes{},
                              choice, always)
                .value,
            2U * k_chunk);
  ASSERT_EQ(choice.moves.size(), 3U);
  EXPECT_EQ(choice.moves[0].chunk, 3U);
  EXPECT_EQ(choice.moves[1].chunk, 1U);
  EXPECT_EQ(choice.moves[1].to, k_slow);
  EXPECT_EQ(choice.moves[2].chunk, 4U);
}

// --- MEMTIS

// 100 and 50 samples per chunk of 2 MiB in slow memory, 1 and 0 in fast memory, which holds two: both are swapped.
TEST(Memtis, HotAndColdChunks_AreSwapped) {
  const auto policy = find_variant("memtis").policy();
  Bench bench({k_fast, k_fast, k_slow, k_slow});
  bench.touch(0, 1);
  bench.touch(2, 100);
  bench.touch(3, 50);
  EXPECT_EQ(bench.decide(*policy), (Moves{{1, k_slow}, {2, k_fast}, {0, k_slow}, {3, k_fast}}));
}

// If a whole bin does not fit, its chunks cannot be ranked, and all stay.
TEST(Memtis, EquallyHotChunks_Stay) {
  const auto policy = find_variant("memtis").policy();
  Bench bench({k_fast, k_fast, k_slow, k_slow});
  for (ChunkId chunk = 0; chunk < 4; ++chunk) bench.touch(chunk, 40 + chunk);
  EXPECT_TRUE(bench.decide(*policy).empty());
}

// After 2,000 samples counts are halved: a chunk that was hot once gives way to one that is hot now. 2,100 become
// 1,050, then 525 beside 1,000, then stay beside 2,000; without ageing both would be in the bin of 2,048 to 4,095.
TEST(Memtis, FormerlyHotChunk_Ages) {
  const auto policy = find_variant("memtis").policy();
  Bench bench({k_fast, k_slow});
  bench.touch(0, 2100);
  EXPECT_TRUE(bench.decide(*policy).empty());
  for (const auto& moves : {Moves{}, Moves{}, Moves{{0, k_slow}, {1, k_fast}}}) {
    bench.clear();
    bench.touch(1, 1000);
    EXPECT_EQ(bench.decide(*policy), moves);
  }
}

// --- the kernel's tiering

TEST(KernelTiering, EarlyFaults_PromotedAndIdleDemoted) {
  const auto policy = find_variant("kernel-tiering").policy();
  Bench bench({k_fast, k_fast, k_fast, k_slow, k_slow});
  bench.touch(0, 0);
  bench.touch(1, 0);
  EXPECT_TRUE(bench.decide(*policy).empty());
  bench.clear();
  bench.touch(1, 0);
  bench.seen.faults = {{3, Seconds{2e-3}}, {4, Seconds{0.5e-3}}};  // the threshold is a millisecond
  // Chunk 2 was never touched and 0 only before; 1 is in use. The free space must also exceed the watermark, so
  // two are demoted for one.
  EXPECT_EQ(bench.decide(*policy), (Moves{{2, k_slow}, {0, k_slow}, {4, k_fast}}));
}

TEST(KernelTiering, ChunksInUse_AreNotDemoted) {
  const auto policy = find_variant("kernel-tiering").policy();
  Bench bench({k_fast, k_fast, k_slow});
  bench.touch(0, 0);
  bench.touch(1, 0);
  bench.seen.faults = {{2, Seconds{0}}};
  EXPECT_TRUE(bench.decide(*policy).empty());
}

// 256 MiB a second are a chunk of 2 MiB every 7.8 ms, the first at once: four in 31 ms, round and round, slow
// memory only.
TEST(KernelTiering, SlowMemory_IsScannedAtKernelRate) {
  const auto policy = find_variant("kernel-tiering").policy();
  Bench bench({k_fast, k_slow, k_slow});
  std::vector<ChunkId> scanned;
  for (int ms = 0; ms < 31; ++ms) {
    bench.clear();
    bench.decide(*policy);
    scanned.insert(scanned.end(), bench.choice.protect.begin(), bench.choice.protect.end());
  }
  EXPECT_EQ(scanned, (std::vector<ChunkId>{1, 2, 1, 2}));
}

// --- ALTO

TEST(Alto, HiddenLatency_PromotesNothing) {
  for (const auto& [stalled, promoted] : {std::pair{0.05, 0U}, {0.5, 4U}, {0.2166667, 2U}}) {
    const auto policy = find_variant("alto").policy();
    Bench bench({k_fast, k_slow, k_slow, k_slow, k_slow}, 5);
    bench.seen.faults = {{1, {}}, {2, {}}, {3, {}}, {4, {}}};
    bench.seen.reads = 1000;
    bench.seen.stalled = Seconds{stalled * 1000 * 344e-9};
    EXPECT_EQ(bench.decide(*policy).size(), promoted) << stalled;
  }
}

// --- Colloid

// Fast memory serves half and has the lower latency: p moves from 0.5 towards 1, by 0.25, so chunks with a quarter
// of the samples are promoted, and colder ones demoted.
TEST(Colloid, FastMemoryQuicker_Promotes) {
  const auto policy = find_variant("colloid").policy();
  Bench bench({k_fast, k_fast, k_slow, k_slow});
  bench.touch(0, 50);
  bench.touch(1, 0);
  bench.touch(2, 24);
  bench.touch(3, 26);
  bench.seen.places[k_fast].reads = bench.seen.places[k_slow].reads = 500;
  EXPECT_EQ(bench.decide(*policy), (Moves{{1, k_slow}, {2, k_fast}}));
}

// 16 and 24 samples are in the same bin, so the chunks are not swapped.
TEST(Colloid, EquallyHotChunks_AreNotSwapped) {
  const auto policy = find_variant("colloid").policy();
  Bench bench({k_fast, k_fast, k_slow, k_slow});
  bench.touch(0, 60);
  bench.touch(1, 16);
  bench.touch(2, 24);
  bench.seen.places[k_fast].reads = bench.seen.places[k_slow].reads = 500;
  EXPECT_TRUE(bench.decide(*policy).empty());
}

TEST(Colloid, FastMemorySlower_Demotes) {
  const auto policy = find_variant("colloid").policy();
  Bench bench({k_fast, k_fast, k_fast, k_slow});
  bench.touch(0, 60);
  bench.touch(1, 25);
  bench.touch(2, 15);
  bench.seen.places = {{0.99, 1000, Seconds{400e-9}}, {0, 0, Seconds{344e-9}}};
  EXPECT_EQ(bench.decide(*policy), (Moves{{1, k_slow}, {2, k_slow}}));  // half of all: p from 1 to 0.5
}

TEST(Colloid, EqualLatencies_MovesNothing) {
  const auto policy = find_variant("colloid").policy();
  Bench bench({k_fast, k_slow});
  bench.touch(0, 10);
  bench.touch(1, 10);
  bench.seen.places = {{0.5, 500, Seconds{340e-9}}, {0.5, 500, Seconds{344e-9}}};
  EXPECT_TRUE(bench.decide(*policy).empty());
}

// --- all of them

class EveryPolicy : public testing::TestWithParam<std::string> {};

// For any observation, each move changes a chunk's tier, no chunk moves twice in one decision, and fast memory
// never exceeds its budget in between.
TEST_P(EveryPolicy, RandomObservations_RequestsFit) {
  std::mt19937 random(17);
  for (int n = 0; n < 40; ++n) {
    const auto policy = find_variant(GetParam()).policy();
    Bench bench({k_fast, k_fast, k_fast, k_slow, k_slow, k_slow, k_slow, k_slow, k_slow}, random() % 2);
    const auto capacity = bench.tiers.capacity;
    for (int interval = 0; interval < 60; ++interval) {
      bench.clear();
      for (ChunkId chunk = 0; chunk < bench.chunks.size(); ++chunk)
        if (random() % 3 > 0) bench.touch(chunk, random() % 2 ? static_cast<std::uint32_t>(random() % 400) : 0);
      for (const auto chunk : bench.choice.protect)
        if (random() % 2) bench.seen.faults.push_back({chunk, Seconds{static_cast<double>(random() % 3) * 1e-3}});
      for (auto& place : bench.seen.places) {
        place.reads = static_cast<double>(random() % 1000);
        place.latency = Seconds{static_cast<double>(80 + random() % 400) * 1e-9};
      }
      bench.seen.reads = bench.seen.places[0].reads + bench.seen.places[1].reads;
      bench.seen.stalled = Seconds{static_cast<double>(random() % 1000) * 1e-7};
      std::vector<ChunkId> moved;
      for (const auto& [chunk, to] : bench.decide(*policy)) {
        ASSERT_TRUE(to == k_fast || to == k_slow);
        ASSERT_NE(bench.chunks[chunk].place.load(), to);
        ASSERT_EQ(std::count(moved.begin(), moved.end(), chunk), 0);
        moved.push_back(chunk);
        if (to == k_fast) {
          ASSERT_GE(bench.tiers.free.value, k_chunk);
          bench.tiers.free -= Bytes{k_chunk};
        } else {
          bench.tiers.free += Bytes{k_chunk};
        }
        bench.chunks.put(bench.chunks[chunk], to);
      }
      const auto held = std::count_if(bench.chunks.begin(), bench.chunks.end(),
                                      [](const auto& chunk) { return chunk.place.load() == k_fast; });
      ASSERT_EQ(static_cast<std::uint64_t>(held) * k_chunk + bench.tiers.free.value, capacity.value);
    }
  }
}

std::vector<std::string> policy_names() {
  std::vector<std::string> all;
  for (const auto* variant : variants())
    if (variant->policy_needs()) all.emplace_back(variant->name());
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, EveryPolicy, testing::ValuesIn(policy_names()), [](const auto& policy) {
  auto name = policy.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace terrace::strategy
