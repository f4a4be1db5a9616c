// Compares the result of each source of the load-sampling collector with closed forms and exact counters.
#include "observe/collecting/load_sampling_collector.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "collected_program.hpp"
#include "core/error.hpp"
#include "observe/collecting/exact_collector.hpp"

namespace terrace::observe {
namespace {

constexpr std::uint32_t k_lines = 1024;  // of a chunk of 64 KiB
constexpr Seconds k_interval{1e-6};

struct LoadSampling : testing::Test {
  explicit LoadSampling(std::uint32_t count = 8) : program(count) {
    for (ChunkId c = 0; c < count; ++c) program.chunks[c].place = 1;  // 300 ns, 4 GB/s read
    start();
  }
  void start() {
    collector.begin_iteration(0);
    collector.begin_phase("p");
  }
  void see(const std::vector<Miss>& misses, std::uint64_t instructions = 0) {
    collector.quantum({0, instructions, instructions, {}, misses});
  }
  static void sweep(ChunkId chunk, std::uint32_t lines, MissKind kind, std::vector<Miss>& misses,
                    std::uint8_t weight = 0) {
    for (std::uint32_t line = 0; line < lines; ++line)
      misses.push_back({chunk, static_cast<std::uint16_t>(line), weight, kind});
  }
  Phase phase(Seconds time = {1}) {
    collector.end_phase(time);
    return collector.take_iteration().phases.at(0);
  }
  static const Cell& cell(const Phase& phase, ChunkId chunk) {
    for (const auto& one : phase.cells)
      if (one.chunk == chunk) return one;
    throw std::runtime_error("the chunk has no cell");
  }

  Program program;
  LoadSamplingCollector collector{program.machine, 0, 1, program.chunks, k_interval};
};

// No load misses, so there are no samples: counters and references find the stream, evenly by bytes.
TEST_F(LoadSampling, Stream_FoundByCountersAndReferences) {
  std::vector<Miss> misses;
  for (const ChunkId chunk : {1U, 2U, 5U}) sweep(chunk, k_lines, MissKind::prefetched, misses);
  sweep(6, k_lines / 2, MissKind::prefetched, misses);  // 8 of 16 pages
  see(misses);
  const auto seen = phase();
  ASSERT_EQ(seen.cells.size(), 4U);
  double lines = 0;
  for (const auto& one : seen.cells) {
    EXPECT_EQ(one.read_lines, one.streamed_lines);
    EXPECT_NEAR(one.exposure, one.read_lines / 20, 1e-9);
    EXPECT_EQ(one.exposure, one.streamed_exposure);
    EXPECT_EQ(one.line_squares, 0);
    lines += one.read_lines;
  }
  EXPECT_NEAR(lines, 3.5 * k_lines, 1e-6);
  EXPECT_NEAR(cell(seen, 1).read_lines, cell(seen, 5).read_lines, 1e-9);
  EXPECT_NEAR(cell(seen, 6).read_lines / cell(seen, 1).read_lines, 7.5 / 16, 1e-9);
  // All of the time is stalled by it.
  EXPECT_NEAR(seen.samples, 3.5 * k_lines / 20 * 300e-9 / k_interval.value, 1e-6);
  EXPECT_NEAR(seen.samples_with_access, seen.samples, 1e-9);
  EXPECT_NEAR(seen.core.value, 0, 1e-15);
}

// Nothing is prefetched: samples give the chunks, counters the amount.
TEST_F(LoadSampling, Chase_FoundBySamples) {
  std::vector<Miss> misses;
  for (std::uint32_t i = 0; i < 20000; ++i)
    misses.push_back(
        {i % 4 == 0 ? 0U : 3U, static_cast<std::uint16_t>(i * 7919 % k_lines), 255, MissKind::dependent});
  for (int q = 0; q < 10; ++q) see(misses, 1000);
  const auto seen = phase();
  ASSERT_EQ(seen.cells.size(), 2U);
  EXPECT_NEAR(seen.cells[0].read_lines + seen.cells[1].read_lines, 200000, 1e-6);
  EXPECT_NEAR(seen.cells[0].exposure + seen.cells[1].exposure, 200000, 1e-6);
  // 3.3 misses an interval, hence one sample in four misses: a quarter has a relative error of 0.8 %.
  EXPECT_NEAR(seen.cells[0].read_lines / 50000, 1, 4 * std::sqrt(0.75 / 0.25 / 50000));
  EXPECT_NEAR(static_cast<double>(collector.records()), 50000, 2);
  for (const auto& one : seen.cells) {
    EXPECT_EQ(one.streamed_lines, 0);
    EXPECT_NEAR(one.samples, one.exposure * 300e-9 / k_interval.value, 1e-6);
  }
  EXPECT_NEAR(seen.core.value, 10 * 1000 * 1e-9, 1e-12);
}

// A chunk whose lines are all demand misses gets no prefetched lines.
TEST_F(LoadSampling, StreamWithChase_AttributedToOtherChunks) {
  for (int q = 0; q < 50; ++q) {
    std::vector<Miss> misses;
    for (std::uint32_t i = 0; i < 2000; ++i) {
      misses.push_back({2, static_cast<std::uint16_t>(i * 7919 % k_lines), 255, MissKind::dependent});
      misses.push_back({q % 2 == 0 ? 4U : 5U, static_cast<std::uint16_t>(i % k_lines), 0, MissKind::prefetched});
    }
    see(misses);
  }
  const auto seen = phase();
  ASSERT_EQ(seen.cells.size(), 3U);
  EXPECT_NEAR(cell(seen, 2).read_lines, 100000, 1e-6);
  EXPECT_EQ(cell(seen, 2).streamed_lines, 0);
  EXPECT_NEAR(cell(seen, 2).exposure, 100000, 1e-6);
  EXPECT_NEAR(cell(seen, 4).streamed_lines, 50000, 1e-6);
  EXPECT_NEAR(cell(seen, 5).streamed_lines, 50000, 1e-6);
}

// Both objects have the same touched pages. The write-backs of one show how often it was read.
TEST_F(LoadSampling, SweptAndWrittenFourTimes_WriteBacksRaiseItsPrefetchedLines) {
  program.chunks[2].object = 1;
  for (int pass = 0; pass < 2; ++pass) {
    for (int sweep_number = 0; sweep_number < 400; ++sweep_number) {
      std::vector<Miss> misses;
      sweep(2, k_lines, MissKind::prefetched, misses);
      if (sweep_number % 4 == 0) sweep(5, k_lines, MissKind::prefetched, misses);
      if (pass > 0) sweep(2, k_lines, MissKind::writeback, misses);
      see(misses, 100000);
    }
    const auto seen = phase();
    const auto lines = cell(seen, 2).streamed_lines;
    EXPECT_NEAR(lines + cell(seen, 5).streamed_lines, 500 * k_lines, 1e-3);
    if (pass == 0) {
      EXPECT_NEAR(lines, 250 * k_lines, 1e-3) << "nothing tells one sweep from many";
    } else {
      EXPECT_GT(lines, 400 * k_lines);
    }
    start();
  }
}

// One in N write-backs represents the store that made the line dirty.
TEST_F(LoadSampling, WrittenLines_FoundByStoreSamples) {
  std::vector<Miss> misses;
  for (std::uint32_t i = 0; i < 10000; ++i)
    misses.push_back({i % 5 == 0 ? 6U : 7U, static_cast<std::uint16_t>(i % k_lines), 0, MissKind::writeback});
  for (int q = 0; q < 20; ++q) see(misses, 100000);  // 100 intervals: a sample is of 100 lines
  const auto seen = phase();
  ASSERT_EQ(seen.cells.size(), 2U);
  EXPECT_NEAR(seen.cells[0].write_lines + seen.cells[1].write_lines, 200000, 1e-6);
  EXPECT_NEAR(seen.cells[0].write_lines / 40000, 1, 4 * std::sqrt(0.8 / 0.2 / 2000));
  for (const auto& one : seen.cells) {
    EXPECT_EQ(one.read_lines, 0);
    EXPECT_EQ(one.exposure, 0);
  }
  EXPECT_EQ(seen.samples_with_access, 0);
  EXPECT_NEAR(seen.core.value, 2e-3, 1e-12);
}

// Lines sum to the counters of their place, and time to cycles; by chunk the samples are near the truth.
TEST_F(LoadSampling, Cells_SumToCountersOfPlaceAndTime) {
  for (ChunkId c = 0; c < program.chunks.size(); ++c) program.chunks[c].place = static_cast<PlaceId>(c % 2);
  constexpr Seconds k_short{2e-7};
  LoadSamplingCollector sampled(program.machine, 0, 1, program.chunks, k_short);
  sampled.begin_iteration(0);
  sampled.begin_phase("p");
  ExactCollector exact(program.machine, 0, 1, program.chunks);
  exact.begin_iteration(0);
  exact.begin_phase("p");
  for (int q = 0; q < 100; ++q) {
    const auto misses = program.misses(4000);
    sampled.quantum({0, 20000, 20000, {}, misses});
    exact.quantum({0, 20000, 20000, {}, misses});
  }
  exact.end_phase({1});
  const auto truth = exact.take_iteration().phases.at(0);
  sampled.end_phase({1});
  const auto seen = sampled.take_iteration().phases.at(0);
  std::map<ChunkId, std::array<double, 4>> by_place;
  const auto add = [&](const Phase& of, double sign) {
    for (const auto& one : of.cells) {
      auto& sums = by_place[one.chunk % 2];
      sums[0] += sign * (one.read_lines - one.streamed_lines);
      sums[1] += sign * one.streamed_lines;
      sums[2] += sign * one.write_lines;
      by_place[0][3] += sign * one.exposure * (one.chunk % 2 == 0 ? 100e-9 : 300e-9);
    }
  };
  add(truth, 1);
  add(seen, -1);
  for (const auto& [place, sums] : by_place)
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(sums[i], 0, 1e-6) << place << ' ' << i;
  EXPECT_NEAR(seen.core.value, truth.core.value, 1e-9);
  EXPECT_NEAR((seen.samples - seen.samples_with_access) * k_short.value, seen.core.value, 1e-9);
  for (const auto& one : truth.cells) {
    const auto& near = cell(seen, one.chunk);
    EXPECT_NEAR((near.exposure - near.streamed_exposure) / (one.exposure - one.streamed_exposure), 1, 0.12)
        << one.chunk;
    EXPECT_NEAR(cell(seen, one.chunk).write_lines / one.write_lines, 1, 0.12) << one.chunk;
  }
}

// Without counters by place and references, a stream shows only as stalls of the core.
TEST_F(LoadSampling, SamplesAlone_MissStreams) {
  LoadSamplingCollector alone(program.machine, 0, 1, program.chunks, k_interval, {false, false});
  alone.begin_iteration(0);
  alone.begin_phase("p");
  std::vector<Miss> misses;
  sweep(1, k_lines, MissKind::prefetched, misses);
  alone.quantum({0, 0, 0, {}, misses});
  alone.end_phase({1});
  const auto seen = alone.take_iteration().phases.at(0);
  EXPECT_TRUE(seen.cells.empty());
  EXPECT_NEAR(seen.core.value, k_lines / 20.0 * 300e-9, 1e-12);
  EXPECT_EQ(alone.take_cost().value, 0);
}

// Without references a stream is distributed over all live chunks.
TEST_F(LoadSampling, WithoutReferences_StreamSpreadOverAllChunks) {
  LoadSamplingCollector without(program.machine, 0, 1, program.chunks, k_interval, {true, false});
  without.begin_iteration(0);
  without.begin_phase("p");
  std::vector<Miss> misses;
  sweep(1, k_lines, MissKind::prefetched, misses);
  without.quantum({0, 0, 0, {}, misses});
  without.end_phase({1});
  const auto seen = without.take_iteration().phases.at(0);
  ASSERT_EQ(seen.cells.size(), 8U);
  for (const auto& one : seen.cells) EXPECT_NEAR(one.streamed_lines, k_lines / 8.0, 1e-9);
}

// 250 ns a record, 2.5 us for each 64 of them, 42 ns a page of 4 KiB: eight chunks have 128.
TEST_F(LoadSampling, Cost_IsChargedOnce) {
  std::vector<Miss> misses;
  sweep(0, 200, MissKind::dependent, misses, 255);
  see(misses);  // one in four, but for the first
  const auto first = static_cast<double>(collector.records());
  EXPECT_NEAR(first, 50, 1);
  EXPECT_NEAR(collector.take_cost().value, first * 250e-9, 1e-15);
  see(misses, 1000000);  // five intervals a miss: each is a sample once the block is over
  const auto more = static_cast<double>(collector.records()) - first;
  EXPECT_NEAR(more, 199, 3);
  EXPECT_NEAR(collector.take_cost().value, more * 250e-9 + std::floor((first + more) / 64) * 2.5e-6, 1e-15);
  static_cast<void>(phase());
  EXPECT_NEAR(collector.take_cost().value, 128 * 42e-9, 1e-15);
  EXPECT_EQ(collector.take_cost().value, 0);
}

// The cores take their samples concurrently; one of them scans the pages.
TEST_F(LoadSampling, SeveralCores_PayConcurrently) {
  LoadSamplingCollector four(program.machine, 0, 4, program.chunks, k_interval);
  four.begin_iteration(0);
  four.begin_phase("p");
  std::vector<Miss> misses;
  sweep(0, 1000, MissKind::dependent, misses, 255);
  for (int q = 0; q < 10; ++q) four.quantum({0, 0, 0, {}, misses});
  const auto records = static_cast<double>(four.records());
  EXPECT_NEAR(records, 10 * 1000 / 4, 2);
  EXPECT_NEAR(four.take_cost().value, (records * 250e-9 + std::floor(records / 64) * 2.5e-6) / 4, 1e-15);
}

// A scan takes 128 x 42 ns and at most a twentieth of the time: one for each 107.5 us. Lines prefetched
// before are attributed then, also to segments that were merged since.
TEST_F(LoadSampling, ShortSegments_AttributedAtScan) {
  static_cast<void>(phase());
  collector.begin_iteration(0);
  std::vector<Miss> misses;
  sweep(1, k_lines, MissKind::prefetched, misses);  // 15.4 us
  for (int segment = 0; segment < 7; ++segment) {
    collector.begin_phase("p");
    see(misses);
    EXPECT_EQ(collector.take_cost().value, 0) << segment;
    collector.end_phase({15e-6});
    const bool scanned = segment == 6;
    EXPECT_EQ(collector.last_phase() != nullptr, scanned) << segment;
    if (segment == 3) collector.merge(1);
  }
  EXPECT_NEAR(collector.take_cost().value, 128 * 42e-9, 1e-15);
  EXPECT_NEAR(collector.last_phase()->time.value, 7 * 15e-6, 1e-12);
  EXPECT_NEAR(cell(*collector.last_phase(), 1).streamed_lines, 7 * k_lines, 1e-6);
  const auto phases = collector.take_iteration().phases;
  ASSERT_EQ(phases.size(), 6U);
  for (std::size_t i = 0; i < phases.size(); ++i) {
    EXPECT_NEAR(cell(phases[i], 1).streamed_lines, (i == 2 ? 2 : 1) * k_lines, 1e-6) << i;
    EXPECT_TRUE(phases[i].streamed_on.empty());
  }
  EXPECT_EQ(collector.take_cost().value, 0);  // the iteration ended with a scan: none is due
}

// Equal chunks: pooled counts are much closer to the truth than samples. Unequal ones stay different.
TEST_F(LoadSampling, IndistinguishableChunks_ArePooled) {
  for (int q = 0; q < 40; ++q) {
    std::vector<Miss> misses;
    for (std::uint32_t i = 0; i < 4000; ++i)
      misses.push_back({static_cast<ChunkId>(program.random() % 8), static_cast<std::uint16_t>(i % k_lines), 128,
                        MissKind::independent});
    see(misses, 1000);
  }
  const auto alike = phase();
  double square = 0;
  for (const auto& one : alike.cells) square += std::pow(one.read_lines / 20000 - 1, 2) / 8;
  const auto samples = static_cast<double>(collector.records()) / 8;
  EXPECT_LT(std::sqrt(square), 0.7 / std::sqrt(samples));
  start();
  for (int q = 0; q < 40; ++q) {
    std::vector<Miss> misses;
    for (std::uint32_t i = 0; i < 4000; ++i)
      misses.push_back({program.random() % 4 == 0 ? 0U : 1U, static_cast<std::uint16_t>(i % k_lines), 128,
                        MissKind::independent});
    see(misses, 1000);
  }
  const auto unlike = phase();
  EXPECT_NEAR(cell(unlike, 0).read_lines / cell(unlike, 1).read_lines, 1.0 / 3, 0.03);
}

TEST(LoadSamplingCollector, ZeroInterval_IsRefused) {
  const Program program(1);
  EXPECT_THROW(LoadSamplingCollector(program.machine, 0, 1, program.chunks, {0}), Error);
}

// 18 MiB in nine pages; misses have distinct lines within 4 MiB.
TEST(PageBits, SweepOfLargeChunk_TouchesPagesInOrder) {
  constexpr std::uint64_t k_size = 18 << 20, k_told = 4 << 20;
  PageBits bits;
  EXPECT_EQ(bits.touched(k_size, k_told), 0);
  for (std::uint64_t at = 0; at < k_size; at += 64) {
    bits.set(at % k_told, page_of(k_size));
    const auto pages = at / k_huge_page + 1;
    if (at % k_huge_page == 0 && pages < 9) {
      ASSERT_EQ(bits.touched(k_size, k_told), (static_cast<double>(pages) - 0.5) * k_huge_page);
    }
  }
  EXPECT_EQ(bits.touched(k_size, k_told), k_size);
  EXPECT_EQ(pages_of(k_size), 9U);
  EXPECT_EQ(pages_of(65536), 16U);
}

}  // namespace
}  // namespace terrace::observe
