// Compares windows of page references with sweeps of known bytes.
#include "observe/collecting/page_references_collector.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "collected_program.hpp"
#include "core/error.hpp"

namespace terrace::observe {
namespace {

constexpr std::uint32_t k_chunk = 65536;
constexpr std::uint32_t k_lines = k_chunk / 64;
constexpr std::uint32_t k_chunks = 8;  // of an object
// A prefetched line exposes a twentieth of 300 ns.
constexpr double k_line_time = 15e-9;
constexpr Seconds k_window{20e-6};  // less than two chunks

struct PageReferences : testing::Test {
  PageReferences() {
    for (ObjectId object = 0; object < 3; ++object)
      for (std::uint32_t i = 0; i < k_chunks; ++i)
        chunks.add((std::uint64_t{object} << 32) + std::uint64_t{i} * k_chunk, k_chunk, object, 0, 1);
  }
  void start(Seconds window = k_window) {
    collector.emplace(machine, 0, 1, chunks, window);
    collector->begin_iteration(0);
  }
  void sweep(ObjectId object) {
    for (ChunkId chunk = object * k_chunks; chunk < (object + 1) * k_chunks; ++chunk) {
      std::vector<Miss> misses;
      for (std::uint32_t line = 0; line < k_lines; ++line) {
        misses.push_back({chunk, static_cast<std::uint16_t>(line), 0, MissKind::prefetched});
        if (misses.size() < 64) continue;
        collector->quantum({0, 0, 0, {}, misses});
        misses.clear();
      }
    }
    swept += k_chunks * k_lines * k_line_time;
  }
  void phase(const std::string& name, const std::vector<ObjectId>& objects, int times) {
    collector->begin_phase(name);
    for (int i = 0; i < times; ++i)
      for (const auto object : objects) sweep(object);
    collector->end_phase({1});
  }
  // Time without reads, long enough for the first window to be due.
  void earn_a_window() {
    collector->begin_phase("before");
    collector->quantum({0, 50'000'000, 50'000'000, {}, {}});
    collector->end_phase({1});
  }
  static double lines_of(const Phase& phase, ObjectId object) {
    double lines = 0;
    for (const auto& cell : phase.cells)
      if (cell.chunk / k_chunks == object) lines += cell.read_lines;
    return lines;
  }

  machine::Machine machine = example_machine();
  memory::ChunkTable chunks;
  std::optional<PageReferencesCollector> collector;
  double swept = 0;  // seconds
};

TEST_F(PageReferences, SweepLongerThanWindow_CountsItsBytes) {
  start();
  constexpr int k_times = 9500;
  phase("p", {0, 1, 0, 0, 0, 2}, k_times);
  const auto seen = collector->take_iteration().phases.at(0);
  EXPECT_GT(collector->windows(), 200U);
  constexpr double k_swept = 1.0 * k_times * k_chunks * k_lines;
  EXPECT_NEAR(lines_of(seen, 0) / (4 * k_swept), 1, 0.1);
  EXPECT_NEAR(lines_of(seen, 1) / k_swept, 1, 0.2);
  EXPECT_NEAR(lines_of(seen, 2) / k_swept, 1, 0.2);
  // Only the object and its use are known.
  EXPECT_EQ(seen.cells.size(), 3 * k_chunks);
  for (const auto& cell : seen.cells) {
    EXPECT_NEAR(cell.read_lines, lines_of(seen, cell.chunk / k_chunks) / k_chunks, 1e-6);
    EXPECT_EQ(cell.streamed_lines, cell.read_lines);
    EXPECT_EQ(cell.write_lines, 0);
    EXPECT_GT(cell.line_squares, 0);
  }
  EXPECT_GE(seen.core.value, 0);
  EXPECT_LE(seen.samples_with_access, seen.samples * (1 + 1e-9));
  EXPECT_NEAR(seen.samples * k_window.value / swept, 1, 1e-9);
}

TEST_F(PageReferences, RepeatedUseInWindow_CountsOnce) {
  start({10 * k_chunks * k_lines * k_line_time});
  phase("p", {0}, 2000);
  const auto seen = collector->take_iteration().phases.at(0);
  EXPECT_NEAR(lines_of(seen, 0) / (200.0 * k_chunks * k_lines), 1, 0.02);
}

TEST_F(PageReferences, PhasesLongerThanWindows_AreDistinguished) {
  start();
  for (int i = 0; i < 20; ++i) {
    phase("a", {0}, 600);
    phase("b", {1}, 600);
  }
  const auto seen = collector->take_iteration();
  ASSERT_EQ(seen.phases.size(), 40U);
  for (const auto& one : seen.phases) {
    const ObjectId own = one.name == "a" ? 0 : 1;
    EXPECT_NEAR(lines_of(one, own) / (600.0 * k_chunks * k_lines), 1, 0.15) << one.name;
    EXPECT_LT(lines_of(one, 1 - own), lines_of(one, own) / 20) << one.name;
  }
}

TEST_F(PageReferences, PhasesShorterThanWindows_ShareUse) {
  start({8 * k_chunks * k_lines * k_line_time});
  for (int i = 0; i < 6000; ++i) {
    phase("a", {0}, 1);
    phase("b", {1}, 1);
  }
  const auto seen = collector->take_iteration();
  const auto& last = seen.phases.back();
  EXPECT_NEAR(lines_of(last, 0) / lines_of(last, 1), 1, 0.1);
}

// Also from one iteration to the next.
TEST_F(PageReferences, NextIteration_KeepsPhaseEstimate) {
  start();
  phase("a", {0}, 1000);
  phase("b", {1}, 1000);
  static_cast<void>(collector->take_iteration());
  collector->begin_iteration(1);
  phase("b", {1}, 1);
  phase("new", {2}, 0);
  const auto seen = collector->take_iteration();
  EXPECT_GT(lines_of(seen.phases.at(0), 1), 10 * lines_of(seen.phases.at(0), 0));
  EXPECT_TRUE(seen.phases.at(1).cells.empty()) << "it took no time";
}

TEST_F(PageReferences, PhaseWithoutWindow_GetsMean) {
  start();
  phase("a", {0}, 400);
  collector->begin_phase("short");
  std::vector<Miss> misses;
  for (std::uint16_t line = 0; line < 8; ++line) misses.push_back({k_chunks, line, 0, MissKind::prefetched});
  collector->quantum({0, 0, 0, {}, misses});
  collector->end_phase({1});
  const auto seen = collector->take_iteration().phases.back();
  EXPECT_EQ(seen.name, "short");
  EXPECT_GT(lines_of(seen, 0), 0);
}

TEST_F(PageReferences, Windows_CostTheirShareOfTime) {
  start();
  Seconds cost;
  for (int i = 0; i < 50; ++i) {
    phase("p", {0, 1, 2}, 400);
    cost = cost + collector->take_cost();
  }
  EXPECT_LE(cost.value / swept, 0.0155);
  EXPECT_GE(cost.value / swept, 0.0135) << "it looks as often as it may";
  // Each window clears and reads the bits of all pages, and the program pays for all of them, in it or after it.
  const auto pages = static_cast<double>(pages_of(chunks));
  const auto windows = static_cast<double>(collector->windows());
  EXPECT_NEAR(cost.value, windows * (300e-6 + pages * (130e-9 + 385e-9)), 1e-9);
}

TEST_F(PageReferences, FirstWindow_WaitsForItsCost) {
  start();
  const auto cost = 300e-6 + static_cast<double>(pages_of(chunks)) * (130e-9 + 385e-9);
  collector->begin_phase("p");
  while (swept < 0.99 * cost / 0.015) sweep(0);
  EXPECT_EQ(collector->windows(), 0U);
  EXPECT_EQ(collector->take_cost().value, 0);
  while (swept < 1.02 * cost / 0.015) sweep(0);
  EXPECT_EQ(collector->windows(), 1U);
}

// One window with one sweep of an object with chunks of two sizes; then as much time again without a sweep.
TEST_F(PageReferences, SingleWindow_EstimateIsExact) {
  const auto small = chunks.add(std::uint64_t{9} << 32, k_chunk, 9, 0, 1);
  const auto large = chunks.add((std::uint64_t{9} << 32) + k_chunk, 3 * k_chunk, 9, 0, 1);
  constexpr double k_rounding = 1e-11;  // of sums of times
  start({4 * k_lines * k_line_time * (1 - k_rounding)});
  earn_a_window();
  collector->begin_phase("p");
  const auto read = [&](ChunkId chunk, std::uint32_t lines) {
    std::vector<Miss> misses;
    for (std::uint32_t line = 0; line < lines; ++line) {
      misses.push_back({chunk, static_cast<std::uint16_t>(line), 0, MissKind::prefetched});
      misses.push_back({0, static_cast<std::uint16_t>(line), 0, MissKind::writeback});
    }
    collector->quantum({0, 0, 0, {}, misses});
  };
  read(small, k_lines);
  read(large, 3 * k_lines);
  ASSERT_EQ(collector->windows(), 1U);
  // 4 us without reads.
  collector->quantum({0, 4096 * 15, 4096 * 15, {}, {}});
  collector->end_phase({1});
  const auto seen = collector->take_iteration().phases.at(1);
  ASSERT_EQ(seen.cells.size(), 2U) << "what is written back is not used";
  constexpr double k_window_time = 4 * k_lines * k_line_time;
  const auto time = k_window_time + 4096 * 15 * 1e-9;
  const auto lines = 4 * k_lines * time / k_window_time;
  EXPECT_EQ(seen.cells[0].chunk, small);
  EXPECT_NEAR(seen.cells[0].read_lines, lines / 4, 1e-6);
  EXPECT_NEAR(seen.cells[1].read_lines, lines * 3 / 4, 1e-6);
  for (const auto& cell : seen.cells) {
    EXPECT_NEAR(cell.exposure, cell.read_lines / 20, 1e-9);
    EXPECT_NEAR(cell.line_squares, cell.read_lines * cell.read_lines, 1e-3) << "of one window";
    EXPECT_NEAR(cell.samples, cell.exposure * 300e-9 / k_window_time, 1e-9);
  }
  // The window was stalled throughout, so all of the phase counts as stalled.
  EXPECT_NEAR(seen.samples * k_window_time, time, 1e-12);
  EXPECT_NEAR(seen.core.value, 0, 1e-12);
  EXPECT_NEAR(seen.samples_with_access, seen.samples, 1e-9);
}

// Its reads in windows imply more stall time than the phase has.
TEST_F(PageReferences, StallTime_LimitedToPhaseTime) {
  start();
  earn_a_window();
  collector->begin_phase("p");
  // One of 64 lines of each page is read: the window counts whole pages.
  for (int i = 0; i < 2000; ++i) {
    std::vector<Miss> misses;
    for (std::uint32_t page = 0; page < k_lines / 64; ++page)
      misses.push_back(
          {static_cast<ChunkId>(i % k_chunks), static_cast<std::uint16_t>(page * 64), 0, MissKind::prefetched});
    collector->quantum({0, 0, 0, {}, misses});
  }
  collector->end_phase({1});
  const auto seen = collector->take_iteration().phases.at(1);
  double waits = 0;
  for (const auto& cell : seen.cells) waits += cell.exposure * 300e-9;
  EXPECT_NEAR(waits, seen.samples * k_window.value, 1e-9);
  EXPECT_NEAR(seen.core.value, 0, 1e-12);
}

TEST_F(PageReferences, FreedChunks_HaveNoLines) {
  start();
  phase("p", {0, 1}, 1000);
  for (ChunkId chunk = 0; chunk < k_chunks; ++chunk) chunks[chunk].live = false;
  const auto seen = collector->take_iteration().phases.at(0);
  EXPECT_EQ(lines_of(seen, 0), 0);
  EXPECT_GT(lines_of(seen, 1), 0);
}

TEST_F(PageReferences, ZeroWindow_IsRefused) {
  EXPECT_THROW(start({0}), Error);
  EXPECT_THROW(start({-1}), Error);
}

}  // namespace
}  // namespace terrace::observe
