// What misses expose against closed forms, and against a plain model of a window in which each miss is looked up
// among all that came before.
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

// Latencies that `count` misses `apart` accesses apart expose, independents' 1/registers each included.
double exposed(std::uint32_t registers, std::uint32_t window, std::size_t count, std::uint64_t apart) {
  Exposure exposure(registers, window);
  std::vector<Miss> misses;
  for (std::size_t i = 0; i < count; ++i) {
    exposure.miss(0, i * apart, static_cast<std::uint32_t>(i));
    misses.push_back({});
    if (exposure.full()) exposure.close(misses);
  }
  exposure.close(misses);
  double sum = static_cast<double>(count) / registers;
  for (const Miss& miss : misses) sum += miss.weight / k_latency;
  return sum;
}

TEST(Exposure, IndependentMissesSideBySideShareTheRegisters) {
  for (const std::uint32_t registers : {1u, 4u, 10u, 16u})
    EXPECT_NEAR(exposed(registers, 64, 10000, 1), 10000.0 / registers, 1.0) << registers;
}

TEST(Exposure, MissesFartherApartThanTheWindowDoNotOverlap) {
  EXPECT_NEAR(exposed(10, 64, 10000, 64), 10000, 1);
  EXPECT_NEAR(exposed(10, 64, 10000, 1000), 10000, 1);
}

TEST(Exposure, AsManyOverlapAsTheWindowHolds) {
  EXPECT_NEAR(exposed(10, 64, 10000, 32), 5000, 1);
  EXPECT_NEAR(exposed(10, 64, 10000, 16), 2500, 1);
  EXPECT_NEAR(exposed(10, 64, 10000, 21), 2500, 1);  // 64 accesses reach over 4 of them
  EXPECT_NEAR(exposed(4, 64, 10000, 8), 2500, 1);    // the registers are fewer
}

TEST(Exposure, WhatAMissWaitsForCountsBeforeTheWindow) {
  constexpr std::size_t k_count = 3000;
  for (const std::uint64_t chains : {1u, 2u, 5u}) {
    Exposure exposure(10, 64);
    std::vector<Miss> misses(k_count, Miss{0, 0, 0, MissKind::dependent});
    std::vector<Level> ends(chains, 0);
    for (std::size_t i = 0; i < k_count; ++i) {
      ends[i % chains] = exposure.miss(ends[i % chains], i, static_cast<std::uint32_t>(i));
      if (exposure.full()) exposure.close(misses);
    }
    exposure.close(misses);
    double sum = 0;
    for (const Miss& miss : misses) sum += miss.weight / k_latency;
    EXPECT_NEAR(sum, static_cast<double>(k_count) / static_cast<double>(chains), 1) << chains;
  }
}

// A chase beside misses that overlap with it: they cost nothing beyond what they are charged anyway.
TEST(Exposure, IndependentMissesHideBehindAChase) {
  Exposure exposure(10, 64);
  std::vector<Miss> misses;
  Level end = 0;
  for (std::uint32_t i = 0; i < 8000; ++i) {
    const bool chased = i % 4 == 0;
    misses.push_back({0, 0, 0, chased ? MissKind::dependent : MissKind::independent});
    const auto arrives = exposure.miss(chased ? end : 0, i, i);
    if (chased) end = arrives;
    if (exposure.full()) exposure.close(misses);
  }
  exposure.close(misses);
  double sum = 6000.0 / 10;
  for (const Miss& miss : misses) {
    sum += miss.weight / k_latency;
    if (miss.kind == MissKind::independent) {
      EXPECT_EQ(miss.weight, 0);
    }
  }
  EXPECT_NEAR(sum, 2000, 1);
}

// Any mixture: what is exposed in all is the time of a window that is filled and retired in order.
TEST(Exposure, EqualsAPlainModelOfTheWindow) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    const auto registers = static_cast<std::uint32_t>(1 + random() % 16);
    const auto window = static_cast<std::uint32_t>(1 + random() % 100);
    const auto sparse = 1 + random() % 60;
    Exposure exposure(registers, window);
    struct Seen {
      std::uint64_t at;
      Level end;
    };
    std::vector<Seen> seen;
    std::vector<Miss> misses;
    std::uint64_t now = 0, independent = 0;
    Level highest = 0, floor = 0;  // after a barrier
    for (std::uint32_t i = 0; i < 2000; ++i) {
      now += 1 + random() % sparse;
      const bool waits = i > 0 && random() % 3 == 0;
      const Level level = waits ? seen[i - 1 - random() % std::min(i, 5u)].end : 0;
      Level begin = std::max({level, floor, i >= registers ? seen[i - registers].end : 0});
      for (const auto& [at, end] : seen) begin = std::max<Level>(begin, at + window <= now ? end : 0);
      misses.push_back({0, 0, 0, waits ? MissKind::dependent : MissKind::independent});
      ASSERT_EQ(exposure.miss(level, now, i), begin + 1) << seed << ' ' << i;
      if (exposure.full()) exposure.close(misses);
      seen.push_back({now, begin + 1});
      highest = std::max(highest, begin + 1);
      independent += waits ? 0 : 1;
      if (random() % 500 == 0) {
        exposure.close(misses);
        exposure.barrier();
        floor = highest;
      }
    }
    exposure.close(misses);
    double sum = static_cast<double>(independent) / registers;
    for (const Miss& miss : misses) sum += miss.weight / k_latency;
    EXPECT_NEAR(sum, static_cast<double>(highest), 1.01) << seed;
  }
}

}  // namespace
}  // namespace terrace::observe
