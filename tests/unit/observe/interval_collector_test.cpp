// Compares the observations of tiering policies with counts by hand.
#include "observe/collecting/interval_collector.hpp"

#include <gtest/gtest.h>

#include "collected_program.hpp"

namespace terrace::observe {
namespace {

class HandClock final : public Clock {
 public:
  Seconds now() override { return time; }
  void charge(Seconds cost) override { time += cost; }
  Seconds time;
};

struct Watched : testing::Test {
  void see(ChunkId chunk, std::uint32_t reads, std::uint32_t writes, MissKind kind = MissKind::independent,
           std::uint8_t weight = 0) {
    std::vector<Miss> misses(reads, Miss{chunk, 0, weight, kind});
    misses.insert(misses.end(), writes, Miss{chunk, 0, 0, MissKind::writeback});
    collector.quantum({0, 1, 1, {}, misses});
  }
  Program program{4};  // chunks 0 and 2 on fast memory, 1 and 3 on slow
  HandClock clock;
  IntervalCollector collector{program.machine, 0, 1, program.chunks, clock, 10};
};

TEST_F(Watched, PeriodTen_OneLineInTenSampled) {
  see(1, 25, 0);
  see(2, 5, 12);
  see(1, 9, 0);
  see(3, 1, 0);
  const auto seen = collector.take();
  EXPECT_EQ(seen.touched, (std::vector<ChunkId>{1, 2, 3}));
  ASSERT_EQ(seen.samples.size(), 3U);  // the 10th, 20th, 30th and 40th line read, the 10th written
  EXPECT_EQ(seen.samples[0].chunk, 1U);
  EXPECT_EQ(seen.samples[0].reads, 2U);
  EXPECT_EQ(seen.samples[1].chunk, 2U);
  EXPECT_EQ(seen.samples[1].reads, 1U);
  EXPECT_EQ(seen.samples[1].writes, 1U);
  EXPECT_EQ(seen.samples[2].chunk, 3U);
  EXPECT_EQ(seen.samples[2].reads, 1U);
  EXPECT_EQ(seen.reads, 40);
  EXPECT_TRUE(collector.take().samples.empty());
}

// 1,000 lines of 64 bytes at 4 GB/s are 16 us, 500 written at 2 GB/s as much again: of 64 us a half. 100 dependent
// misses stall for 300 ns each.
TEST_F(Watched, Utilisation_MatchesTraffic) {
  see(1, 900, 500, MissKind::prefetched);
  see(1, 100, 0, MissKind::dependent, 255);
  clock.time = Seconds{64e-6};
  const auto seen = collector.take();
  EXPECT_DOUBLE_EQ(seen.length.value, 64e-6);
  EXPECT_DOUBLE_EQ(seen.places[1].utilisation, 0.5);
  EXPECT_EQ(seen.places[0].utilisation, 0);
  // 900 prefetched ones expose a twentieth of a latency each.
  EXPECT_NEAR(seen.stalled.value, (100 + 900 / 20.0) * 300e-9, 1e-12);
  // A line takes 16 ns and, at a utilisation of 0.5, waits for half of one: 0.5 / (2 x 0.5).
  EXPECT_NEAR(seen.places[1].latency.value, 300e-9 + 8e-9, 1e-15);
}

TEST_F(Watched, ProtectedChunk_FaultsOnce) {
  clock.time = Seconds{1};
  collector.protect(std::vector<ChunkId>{1, 3});
  clock.time = Seconds{1.25};
  see(0, 1, 0);
  EXPECT_EQ(collector.take_faults(), 0U);
  see(1, 1, 0);
  see(1, 1, 0);
  EXPECT_EQ(collector.take_faults(), 1U);
  clock.time = Seconds{1.5};
  see(3, 0, 1);
  EXPECT_EQ(collector.take_faults(), 1U);
  const auto seen = collector.take();
  ASSERT_EQ(seen.faults.size(), 2U);
  EXPECT_EQ(seen.faults[0].chunk, 1U);
  EXPECT_EQ(seen.faults[0].latency.value, 0.25);
  EXPECT_EQ(seen.faults[1].latency.value, 0.5);
}

// 640 records at 250 ns, ten interrupts at 2.5 us; a protected page is 42 ns.
TEST_F(Watched, SamplesAndProtection_AreCharged) {
  see(1, 6400, 0);
  EXPECT_NEAR(collector.take_cost().value, 640 * 250e-9 + 10 * 2.5e-6, 1e-12);
  EXPECT_EQ(collector.take_cost().value, 0);
  collector.protect(std::vector<ChunkId>{1});
  const auto pages = static_cast<double>(program.chunks[1].size) / 4096;
  EXPECT_NEAR(collector.take_cost().value, pages * 42e-9, 1e-12);
}

TEST_F(Watched, PrefetchedLines_CountedWithoutSamples) {
  see(1, 1000, 0, MissKind::prefetched);
  const auto seen = collector.take();
  EXPECT_TRUE(seen.samples.empty());
  EXPECT_EQ(seen.touched, (std::vector<ChunkId>{1}));
  EXPECT_EQ(seen.reads, 1000);
  EXPECT_EQ(collector.take_cost().value, 0);
}

TEST_F(Watched, PeriodZero_TakesNoSamples) {
  IntervalCollector none{program.machine, 0, 1, program.chunks, clock, 0};
  const std::vector<Miss> misses(100, Miss{1, 0, 0, MissKind::independent});
  none.quantum({0, 1, 1, {}, misses});
  EXPECT_TRUE(none.take().samples.empty());
  EXPECT_EQ(none.take_cost().value, 0);
}

}  // namespace
}  // namespace terrace::observe
