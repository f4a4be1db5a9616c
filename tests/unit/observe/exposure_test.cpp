// Compares the exposure of misses with closed forms, and with a reference model that searches all earlier misses.
#include "observe/cache/exposure.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace terrace::observe {
namespace {

using observe::Miss;
using observe::MissKind;

constexpr double k_latency = 255;

constexpr std::uint32_t k_store_buffer = 56;

struct Program {
  std::size_t count = 0;           // of misses
  std::uint64_t apart = 1;         // accesses from one to the next
  std::uint64_t stores_apart = 0;  // stores among them
  bool stores = false;             // whether stores miss, or loads
};

// Returns the latencies exposed by the misses, including 1/registers for each independent one.
double exposed(std::uint32_t registers, std::uint32_t window, std::uint32_t store_buffer, const Program& of) {
  ExposureModel exposure(registers, window, store_buffer);
  std::vector<Miss> misses;
  for (std::size_t i = 0; i < of.count; ++i) {
    exposure.on_miss(0, {i * of.apart, i * of.stores_apart, of.stores}, static_cast<std::uint32_t>(i));
    misses.push_back({});
    if (exposure.is_full()) exposure.distribute(misses);
  }
  exposure.distribute(misses);
  double sum = static_cast<double>(of.count) / registers;
  for (const Miss& miss : misses) sum += miss.weight / k_latency;
  return sum;
}
double exposed(std::uint32_t registers, std::uint32_t window, std::size_t count, std::uint64_t apart) {
  return exposed(registers, window, k_store_buffer, {count, apart, 0, false});
}

TEST(ExposureModel, AdjacentIndependentMisses_ShareRegisters) {
  for (const std::uint32_t registers : {1u, 4u, 10u, 16u})
    EXPECT_NEAR(exposed(registers, 64, 10000, 1), 10000.0 / registers, 1.0) << registers;
}

TEST(ExposureModel, LoadsBeyondWindow_DoNotOverlap) {
  EXPECT_NEAR(exposed(10, 64, 10000, 64), 10000, 1);
  EXPECT_NEAR(exposed(10, 64, 10000, 1000), 10000, 1);
}

TEST(ExposureModel, LoadsWithinWindow_Overlap) {
  EXPECT_NEAR(exposed(10, 64, 10000, 32), 5000, 1);
  EXPECT_NEAR(exposed(10, 64, 10000, 16), 2500, 1);
  EXPECT_NEAR(exposed(10, 64, 10000, 21), 2500, 1);  // 64 accesses reach over 4 of them
  EXPECT_NEAR(exposed(4, 64, 10000, 8), 2500, 1);    // the registers are fewer
}

// N stores that miss, with loads that hit between them: the window does not matter.
TEST(ExposureModel, MissingStores_DoNotBlockWindow) {
  for (const std::uint64_t apart : {1u, 64u, 1000u})
    EXPECT_NEAR(exposed(10, 64, 56, {10000, apart, 1, true}), 1000, 1) << apart;
  EXPECT_NEAR(exposed(60, 64, 20, {10000, 1000, 1, true}), 500, 1);  // the buffer is less than the registers
}

// N stores that miss with k - 1 that hit between them: of a buffer of S, S / k wait at a time, rounded up.
TEST(ExposureModel, StoresWithinBuffer_Overlap) {
  EXPECT_NEAR(exposed(10, 64, 56, {10000, 1000, 56, true}), 10000, 1);
  EXPECT_NEAR(exposed(10, 64, 56, {10000, 64, 100, true}), 10000, 1);
  EXPECT_NEAR(exposed(10, 64, 56, {10000, 64, 28, true}), 5000, 1);
  EXPECT_NEAR(exposed(10, 64, 56, {10000, 64, 14, true}), 2500, 1);
  EXPECT_NEAR(exposed(10, 64, 56, {10000, 64, 20, true}), 10000.0 / 3, 1);
}

// A missing load keeps the stores behind it in the buffer.
TEST(ExposureModel, StoresBehindMissingLoad_FillBuffer) {
  EXPECT_NEAR(exposed(10, 512, 56, {10000, 60, 56, false}), 10000, 1);
  EXPECT_NEAR(exposed(10, 512, 56, {10000, 60, 28, false}), 5000, 1);
  EXPECT_NEAR(exposed(10, 512, 56, {10000, 64, 1, false}), 1250, 1);  // here it is the window
}

// Missing loads, each a window after the last, expose a latency each; missing stores between them expose no more
// than their regular charge.
TEST(ExposureModel, StoresBehindLoads_AreHidden) {
  ExposureModel exposure(10, 64, 56);
  std::vector<Miss> misses;
  for (std::uint32_t i = 0; i < 8000; ++i) {
    const bool store = i % 4 != 0;
    misses.push_back({});
    exposure.on_miss(0, {i * 16, i - i / 4, store}, i);
    if (exposure.is_full()) exposure.distribute(misses);
  }
  exposure.distribute(misses);
  double sum = 8000.0 / 10;
  for (const Miss& miss : misses) sum += miss.weight / k_latency;
  EXPECT_NEAR(sum, 2000, 1);
}

TEST(ExposureModel, DependentMiss_WaitsForDataAndWindow) {
  constexpr std::size_t k_count = 3000;
  for (const std::uint64_t chains : {1u, 2u, 5u}) {
    ExposureModel exposure(10, 64, k_store_buffer);
    std::vector<Miss> misses(k_count, Miss{0, 0, 0, MissKind::dependent});
    std::vector<Level> ends(chains, 0);
    for (std::size_t i = 0; i < k_count; ++i) {
      ends[i % chains] = exposure.on_miss(ends[i % chains], {i, 0, false}, static_cast<std::uint32_t>(i));
      if (exposure.is_full()) exposure.distribute(misses);
    }
    exposure.distribute(misses);
    double sum = 0;
    for (const Miss& miss : misses) sum += miss.weight / k_latency;
    EXPECT_NEAR(sum, static_cast<double>(k_count) / static_cast<double>(chains), 1) << chains;
  }
}

// Misses that overlap with a chase cost no more than their regular charge.
TEST(ExposureModel, IndependentMisses_HiddenByChase) {
  ExposureModel exposure(10, 64, k_store_buffer);
  std::vector<Miss> misses;
  Level end = 0;
  for (std::uint32_t i = 0; i < 8000; ++i) {
    const bool chased = i % 4 == 0;
    misses.push_back({0, 0, 0, chased ? MissKind::dependent : MissKind::independent});
    const auto arrives = exposure.on_miss(chased ? end : 0, {i, 0, false}, i);
    if (chased) end = arrives;
    if (exposure.is_full()) exposure.distribute(misses);
  }
  exposure.distribute(misses);
  double sum = 6000.0 / 10;
  for (const Miss& miss : misses) {
    sum += miss.weight / k_latency;
    if (miss.kind == MissKind::independent) {
      EXPECT_EQ(miss.weight, 0);
    }
  }
  EXPECT_NEAR(sum, 2000, 1);
}

// Random mixtures: the total exposure is the time of a window that is filled and retired in order.
TEST(ExposureModel, RandomMisses_EqualReferenceModel) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    const auto registers = static_cast<std::uint32_t>(1 + random() % 16);
    const auto window = static_cast<std::uint32_t>(1 + random() % 100);
    const auto sparse = 1 + random() % 60;
    const auto buffer = static_cast<std::uint32_t>(1 + random() % 60);
    ExposureModel exposure(registers, window, buffer);
    struct Seen {
      ExposureModel::Position at;
      Level end;
    };
    std::vector<Seen> seen;
    std::vector<Miss> misses;
    std::uint64_t now = 0, stores = 0, independent = 0;
    Level highest = 0, floor = 0;  // after a barrier
    for (std::uint32_t i = 0; i < 2000; ++i) {
      const auto step = 1 + random() % sparse;
      const auto hits = random() % step;  // that are stores
      const bool store = random() % 2 == 0;
      now += step;
      stores += hits + (store ? 1 : 0);
      const bool waits = i > 0 && random() % 3 == 0;
      const Level level = waits ? seen[i - 1 - random() % std::min(i, 5u)].end : 0;
      Level begin = std::max({level, floor, i >= registers ? seen[i - registers].end : 0});
      // A store leaves the buffer after all earlier ones.
      Level before = 0;
      for (const auto& [at, end] : seen) {
        before = std::max(before, end);
        if (!at.store && at.access + window <= now) begin = std::max(begin, end);
        if (at.stores + buffer <= stores) begin = std::max(begin, at.store ? before : end);
      }
      misses.push_back({0, 0, 0, waits ? MissKind::dependent : MissKind::independent});
      const ExposureModel::Position at{now, stores, store};
      ASSERT_EQ(exposure.on_miss(level, at, i), begin + 1) << seed << ' ' << i;
      if (exposure.is_full()) exposure.distribute(misses);
      seen.push_back({at, begin + 1});
      highest = std::max(highest, begin + 1);
      independent += waits ? 0 : 1;
      if (random() % 500 == 0) {
        exposure.distribute(misses);
        exposure.barrier();
        floor = highest;
      }
    }
    exposure.distribute(misses);
    double sum = static_cast<double>(independent) / registers;
    for (const Miss& miss : misses) sum += miss.weight / k_latency;
    EXPECT_NEAR(sum, static_cast<double>(highest), 1.01) << seed;
  }
}

}  // namespace
}  // namespace terrace::observe
