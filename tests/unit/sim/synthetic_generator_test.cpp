// Tests the synthetic streams against the same kernels run load by load through caches and prefetchers.
#include "sim/engine/synthetic_generator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>

#include "observe/recording.hpp"

namespace terrace::sim {
namespace {

using observe::MissKind;
using observe::test::Bench;
using observe::test::RecordingSink;

constexpr std::uint32_t k_array_lines = 16384;  // of each array: 16 times the last-level cache
constexpr std::uint32_t k_chunk_lines = 1024;   // 64 KiB, as in the calibration
constexpr std::uint32_t k_elements = k_array_lines * 8;
constexpr double k_cached_lines = 65536.0 / 64;  // what the last-level cache still holds at the end

// Misses by array and kind.
std::map<std::pair<std::uint32_t, MissKind>, double> by_array(const RecordingSink& sink) {
  std::map<std::pair<std::uint32_t, MissKind>, double> counts;
  for (const auto& miss : sink.misses) counts[{miss.chunk * k_chunk_lines / k_array_lines, miss.kind}] += 1;
  return counts;
}

std::array<SyntheticArray, 3> arrays() {
  std::array<SyntheticArray, 3> arrays;
  for (std::uint32_t i = 0; i < 3; ++i)
    arrays[i] = {i * (k_array_lines / k_chunk_lines), k_array_lines, k_chunk_lines};
  return arrays;
}

void expect_like(const RecordingSink& synthetic, const RecordingSink& real) {
  EXPECT_EQ(synthetic.accesses, real.accesses);
  auto expected = by_array(real);
  auto counts = by_array(synthetic);
  for (std::uint32_t array = 0; array < 3; ++array) {
    // In the real kernel a few lines train the prefetcher.
    EXPECT_NEAR((counts[{array, MissKind::prefetched}]), (expected[{array, MissKind::prefetched}]),
                0.01 * k_array_lines);
    EXPECT_LT((expected[{array, MissKind::independent}]), 0.01 * k_array_lines);
    EXPECT_NEAR((counts[{array, MissKind::writeback}]), (expected[{array, MissKind::writeback}]), k_cached_lines);
  }
  EXPECT_EQ(real.count(MissKind::dependent), 0u);
}

TEST(SyntheticGenerator, Triad_MatchesTheRealKernel) {
  Bench bench(3ull * k_array_lines * 64);
  auto* b = bench.as<double>();
  auto* c = b + k_elements;
  auto* a = c + k_elements;
  for (std::uint32_t i = 0; i < k_elements; ++i)
    bench.store(a + i, bench.load(b + i, 1) + 3 * bench.load(c + i, 2), 3);
  bench.pipeline->flush();

  RecordingSink sink;
  SyntheticGenerator program(sink, {64});
  program.stream(StreamKernel::triad, arrays());
  program.flush();
  expect_like(sink, bench.sink);
}

TEST(SyntheticGenerator, Copy_MatchesTheRealKernel) {
  Bench bench(3ull * k_array_lines * 64);
  auto* a = bench.as<double>();
  auto* c = a + k_elements;
  for (std::uint32_t i = 0; i < k_elements; ++i) bench.store(c + i, bench.load(a + i, 1), 2);
  bench.pipeline->flush();

  RecordingSink sink;
  SyntheticGenerator program(sink, {64});
  const auto three = arrays();
  program.stream(StreamKernel::copy, std::span(three).subspan(0, 2));
  program.flush();
  expect_like(sink, bench.sink);
}

TEST(SyntheticGenerator, Chase_MatchesTheRealKernel) {
  struct Line {
    Line* next;
    std::uint64_t padding[7];
  };
  Bench bench(std::uint64_t{k_array_lines} * 64);
  auto* lines = bench.as<Line>();
  std::vector<std::uint32_t> order(k_array_lines);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), std::mt19937(5));
  for (std::uint32_t i = 0; i < k_array_lines; ++i) lines[order[i]].next = &lines[order[(i + 1) % k_array_lines]];
  const auto* at = &lines[order[0]];
  for (std::uint32_t i = 0; i < k_array_lines; ++i) at = bench.load(&at->next);
  bench.pipeline->flush();

  RecordingSink sink;
  SyntheticGenerator program(sink, {64});
  program.chase({0, k_array_lines, k_chunk_lines}, k_array_lines);
  program.flush();
  EXPECT_EQ(sink.accesses, bench.sink.accesses);
  EXPECT_EQ(sink.count(MissKind::dependent), k_array_lines);
  EXPECT_NEAR(static_cast<double>(bench.sink.count(MissKind::dependent)), k_array_lines, 0.02 * k_array_lines);
  EXPECT_NEAR(bench.sink.exposed(), sink.exposed(), 0.02 * k_array_lines);
}

}  // namespace
}  // namespace terrace::sim
