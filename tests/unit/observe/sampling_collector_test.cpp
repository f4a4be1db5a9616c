// Compares sampled counters with exact ones, within the error that sampling_collector.hpp states.
#include "observe/collecting/sampling_collector.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>

#include "collected_program.hpp"
#include "core/error.hpp"
#include "observe/collecting/exact_collector.hpp"

namespace terrace::observe {
namespace {

// Both collectors on one program of several phases; the errors of the sampled sums.
struct Both {
  explicit Both(std::uint32_t chunks, std::uint32_t quanta, Seconds interval, double cores = 1,
                std::uint32_t seed = 1)
      : program(chunks, seed),
        exact(program.machine, 0, cores, program.chunks),
        sampled(program.machine, 0, cores, program.chunks, interval) {
    Tee tee;
    tee.add(exact);
    tee.add(sampled);
    for (Collector* collector : {static_cast<Collector*>(&exact), static_cast<Collector*>(&sampled)}) {
      collector->begin_iteration(0);
      collector->begin_phase("p");
    }
    for (std::uint32_t q = 0; q < quanta; ++q) {
      const auto misses = program.misses(4000);
      tee.quantum({0, 20000, 20000, {16000, 0, 0, 0}, misses});
    }
    exact.end_phase({1});
    sampled.end_phase({1});
    truth = exact.take_iteration().phases.at(0);
    seen = sampled.take_iteration().phases.at(0);
  }
  [[nodiscard]] double progress() const {
    double time = truth.core.value;
    for (const auto& cell : truth.cells) time += cell.exposure * (cell.chunk % 2 == 0 ? 100e-9 : 300e-9);
    return time;
  }
  Program program;
  ExactCollector exact;
  SamplingCollector sampled;
  Phase truth, seen;
};

TEST(SamplingCollector, EachInterval_HasOneTimeSample) {
  for (const double interval : {1e-7, 1e-6, 3.7e-6}) {
    const Both both(8, 40, {interval});
    EXPECT_NEAR(both.seen.samples, both.progress() / interval, 1.01);
  }
}

TEST(SamplingCollector, Estimates_MatchExactCollector) {
  const Both both(8, 200, {1e-6});
  const double n = both.seen.samples;
  const double share_of_core = both.truth.core.value / both.progress();
  EXPECT_NEAR(both.seen.core / both.truth.core, 1, 4 * std::sqrt(1 / (share_of_core * n)));
  ASSERT_EQ(both.seen.cells.size(), both.truth.cells.size());
  double with_access = 0;
  for (std::size_t i = 0; i < both.seen.cells.size(); ++i) {
    const auto& seen = both.seen.cells[i];
    const auto& truth = both.truth.cells[i];
    const double latency = truth.chunk % 2 == 0 ? 100e-9 : 300e-9;
    const double share = truth.exposure * latency / both.progress();
    // Four standard errors of the share that the header states, relative to the share.
    const double error = 4 * std::sqrt(share * (1 - share) / n) / share;
    EXPECT_NEAR(seen.exposure / truth.exposure, 1, error);
    EXPECT_NEAR(seen.samples * 1e-6 / latency, seen.exposure, 1e-6 * seen.exposure);
    with_access += seen.samples;
    EXPECT_NEAR(seen.read_lines / truth.read_lines, 1, 0.15);
    EXPECT_NEAR(seen.write_lines / truth.write_lines, 1, 0.15);
  }
  EXPECT_EQ(with_access, both.seen.samples_with_access);
}

// No bias: the mean over many runs is much closer to the truth than the error of one run.
TEST(SamplingCollector, ManySeeds_MeanIsUnbiased) {
  std::map<ChunkId, std::array<double, 2>> exposure, lines;
  for (std::uint32_t seed = 1; seed <= 1500; ++seed) {
    const Both both(4, 3, {3.1e-6}, 1, seed);
    for (const auto& cell : both.truth.cells) {
      exposure[cell.chunk][0] += cell.exposure;
      lines[cell.chunk][0] += cell.read_lines + cell.write_lines;
    }
    for (const auto& cell : both.seen.cells) {
      exposure[cell.chunk][1] += cell.exposure;
      lines[cell.chunk][1] += cell.read_lines + cell.write_lines;
    }
  }
  for (ChunkId chunk = 0; chunk < 4; ++chunk) {
    EXPECT_NEAR(exposure[chunk][1] / exposure[chunk][0], 1, 0.02) << chunk;
    EXPECT_NEAR(lines[chunk][1] / lines[chunk][0], 1, 0.02) << chunk;
  }
}

// Loops whose length divides the distance between samples: a sampler with a fixed distance would sample one chunk
// only.
TEST(SamplingCollector, PeriodicLoop_NoAliasing) {
  for (const std::size_t period : {2u, 10u, 16u, 100u}) {
    Program program(2);
    for (ChunkId c = 0; c < 2; ++c) program.chunks[c].place = 0;
    SamplingCollector collector(program.machine, 0, 1, program.chunks, {1e-6});
    collector.begin_iteration(0);
    collector.begin_phase("p");
    std::vector<Miss> misses;  // independent: 10 ns each, 100 of them an interval
    for (std::size_t i = 0; i < 20000; ++i)
      misses.push_back({i % period == 0 ? 0u : 1u, 0, 0, MissKind::independent});
    for (int q = 0; q < 20; ++q) run(collector, misses, 0);
    collector.end_phase({1});
    const auto phase = collector.take_iteration().phases.at(0);
    double lines = 0, exposure = 0;
    for (const auto& cell : phase.cells) {
      lines += cell.read_lines;
      exposure += cell.exposure;
    }
    ASSERT_EQ(phase.cells.at(0).chunk, 0u);
    const double share = 1 / static_cast<double>(period);
    const double error = 4 * std::sqrt(share * (1 - share) / phase.samples);
    EXPECT_NEAR(phase.cells[0].read_lines / lines, share, error) << period;
    EXPECT_NEAR(phase.cells[0].exposure / exposure, share, error) << period;
    EXPECT_NEAR(lines, 400000, 4000);
  }
}

// The example under eq. 1 in the paper, a thousandth as long: 10 ms at 1 GHz, a sample every 1,000 cycles, 1 % of
// the samples fall on the object: it is accessed for 0.1 ms.
TEST(SamplingCollector, Samples_GiveShareOfTime) {
  Program program(1);
  const auto interval = default_sample_interval(program.machine, 0);
  EXPECT_NEAR(interval.value, 1e-6, 1e-18);
  SamplingCollector collector(program.machine, 0, 1, program.chunks, interval);
  collector.begin_iteration(0);
  collector.begin_phase("p");
  for (int q = 0; q < 100; ++q)  // 99 us of core, 1 us of exposed latency each
    run(collector, std::vector<Miss>(10, {0, 0, 255, MissKind::dependent}), 99000);
  collector.end_phase({10e-3});
  const auto phase = collector.take_iteration().phases.at(0);
  EXPECT_NEAR(phase.samples, 1e4, 1);
  ASSERT_EQ(phase.cells.size(), 1u);
  const double seconds = phase.cells[0].samples / phase.samples * phase.time.value;
  EXPECT_NEAR(seconds, 0.1e-3, 4 * std::sqrt(100) / 1e4 * 10e-3);
}

TEST(SamplingCollector, RareMisses_AllSampled) {
  Program program(3);
  SamplingCollector collector(program.machine, 0, 1, program.chunks, {1e-6});
  collector.begin_iteration(0);
  collector.begin_phase("p");
  double truth = 0;
  for (int q = 0; q < 50; ++q) {
    const auto misses = program.misses(5);  // many samples a miss
    truth += static_cast<double>(misses.size());
    run(collector, misses, 50000);
  }
  collector.end_phase({1});
  const auto phase = collector.take_iteration().phases.at(0);
  double seen = 0;
  for (const auto& cell : phase.cells) seen += cell.read_lines + cell.write_lines;
  EXPECT_EQ(seen, truth);
}

// Sixteen cores that share the work take a sixteenth of the time, and each of them is sampled: the same work gives
// as many samples, with the same information, as on one core.
TEST(SamplingCollector, ThreadForManyCores_HasSamplesOfAll) {
  const Both one(6, 64, {1e-6}, 1);
  const Both sixteen(6, 64, {1e-6}, 16);
  EXPECT_NEAR(one.truth.core / sixteen.truth.core, 16, 1e-9);
  EXPECT_NEAR(sixteen.seen.samples, one.seen.samples, 1.01);
  EXPECT_NEAR(sixteen.seen.samples, 16 * sixteen.progress() / 1e-6, 1.01);
  const double n = sixteen.seen.samples;
  EXPECT_NEAR(sixteen.seen.core / sixteen.truth.core, 1, 4 / std::sqrt(n));
  ASSERT_EQ(sixteen.seen.cells.size(), sixteen.truth.cells.size());
  double seen = 0, truth = 0;
  for (const auto& cell : sixteen.seen.cells) seen += cell.exposure;
  for (const auto& cell : sixteen.truth.cells) truth += cell.exposure;
  EXPECT_NEAR(seen / truth, 1, 4 / std::sqrt(n));
}

TEST(SamplingCollector, RepeatedRun_IsIdentical) {
  const Both once(8, 20, {1e-6}), again(8, 20, {1e-6});
  ASSERT_EQ(once.seen.cells.size(), again.seen.cells.size());
  EXPECT_EQ(once.seen.core, again.seen.core);
  for (std::size_t i = 0; i < once.seen.cells.size(); ++i) {
    EXPECT_EQ(once.seen.cells[i].exposure, again.seen.cells[i].exposure);
    EXPECT_EQ(once.seen.cells[i].read_lines, again.seen.cells[i].read_lines);
  }
}

TEST(SamplingCollector, InvalidInterval_IsRefused) {
  Program program(1);
  EXPECT_THROW(SamplingCollector(program.machine, 0, 1, program.chunks, {0}), Error);
  EXPECT_THROW(SamplingCollector(program.machine, 0, 0, program.chunks, {1}), Error);
  EXPECT_THROW(SamplingCollector(program.machine, 4, 1, program.chunks, {1}), Error);
}

}  // namespace
}  // namespace terrace::observe
