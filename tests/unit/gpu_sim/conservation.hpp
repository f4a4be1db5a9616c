// Checks what holds in every run of the simulator, for any program and placement.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "gpu_sim/engine/simulator.hpp"
#include "model/camat/camat.hpp"
#include "traces.hpp"

namespace terrace::gpu_sim {

inline std::uint64_t instructions_of(const StoredTrace& trace) {
  std::uint64_t count = 0;
  for (const auto& kernel : trace.kernels)
    for (const auto& cta : kernel.ctas) count += cta.instructions();
  return count;
}

// Intervals are adjacent, and add up to the whole, as integers.
inline void expect_parts_add_up(const std::vector<CamatInterval>& parts, const CamatLevels& whole) {
  if (parts.empty()) return;
  CamatLevels sum;
  Cycle end = 0;
  for (const auto& part : parts) {
    EXPECT_EQ(part.begin, end);
    end = part.end;
    sum += part.levels;
    for (const auto* level :
         {&part.levels.l1_by_warp, &part.levels.l1_by_part, &part.levels.l2, &part.levels.dram})
      for (const auto& counters : *level) {
        EXPECT_EQ(counters.hit_cycles + counters.pure_miss_cycles, counters.active_cycles);
        EXPECT_LE(counters.active_cycles, part.end - part.begin);
      }
  }
  EXPECT_TRUE(sum == whole);
}

inline void expect_conserved(const RunCounts& run, std::uint64_t instructions, std::uint64_t page_bytes = 4096) {
  ProcessorCounts sms;
  for (const auto& processor : run.processors) sms += processor;
  EXPECT_EQ(sms.instructions, instructions);
  SliceCounts slices;
  for (const auto& slice : run.slices) slices += slice;
  EXPECT_EQ(sms.loads - sms.load_hits - sms.load_merges + sms.atomics, slices.reads);
  EXPECT_EQ(sms.stores, slices.writes);
  DramCounts dram;
  for (const auto& channel : run.channels) dram += channel;
  EXPECT_EQ(dram.fill_bytes, slices.fetched_sectors * k_sector_bytes);
  EXPECT_EQ(dram.write_back_bytes, slices.written_sectors * k_sector_bytes);
  // Indexed by page: what accesses fetched and made dirty; all dirty data is written back.
  EXPECT_EQ(std::accumulate(run.page_bytes.begin(), run.page_bytes.end(), std::uint64_t{0}),
            dram.fill_bytes + dram.write_back_bytes);
  EXPECT_EQ(dram.move_read_bytes, run.mover.moved_pages * page_bytes);
  EXPECT_EQ(dram.move_write_bytes, run.mover.moved_pages * page_bytes);
  // Sampled traffic never exceeds the whole.
  for (std::size_t i = 0; i < run.traffic.size(); ++i) {
    EXPECT_EQ(run.traffic[i].at, i + 1 < run.traffic.size() ? i * k_traffic_cycles : run.cycles);
    const auto sum = run.traffic[i].demand[0] + run.traffic[i].demand[1];
    EXPECT_LE(sum, dram.fill_bytes + dram.write_back_bytes);
    if (i > 0) {
      EXPECT_GE(sum, run.traffic[i - 1].demand[0] + run.traffic[i - 1].demand[1]);
    }
  }
  EXPECT_EQ(dram.record_bytes, run.samples / 16 * k_line_bytes);
  // Every page is in one frame, no two share a frame, and none is in flight.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> frames;
  for (const auto& page : run.pages) {
    frames.emplace_back(page.memory, page.frame);
    EXPECT_EQ(page.in_flight, 0U);
    EXPECT_FALSE(page.moving);
  }
  std::sort(frames.begin(), frames.end());
  EXPECT_EQ(std::adjacent_find(frames.begin(), frames.end()), frames.end());
  for (const auto* level : {&run.camat.l1_by_warp, &run.camat.l1_by_part, &run.camat.l2, &run.camat.dram})
    for (const auto& counters : *level) {
      EXPECT_EQ(counters.hit_cycles + counters.pure_miss_cycles, counters.active_cycles);
      const auto camat = model::camat_of(counters);
      EXPECT_NEAR(camat.from_components(), camat.value, 1e-9 * camat.value);
      EXPECT_LE(counters.pure_misses, counters.misses);
      EXPECT_LE(counters.misses, counters.accesses);
    }
  // Counters of the levels agree with those of SMs, slices and channels.
  const auto accesses = [](const std::vector<model::CamatCounters>& level) {
    return std::accumulate(level.begin(), level.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const auto& counters) { return sum + counters.accesses; });
  };
  EXPECT_EQ(accesses(run.camat.l1_by_warp), sms.accesses);
  EXPECT_EQ(accesses(run.camat.l1_by_part), sms.loads);
  EXPECT_EQ(accesses(run.camat.l2), slices.reads + slices.writes);
  EXPECT_EQ(accesses(run.camat.dram), dram.transfers);
  expect_parts_add_up(run.camat_by_kernel, run.camat);
  expect_parts_add_up(run.camat_over_time, run.camat);
}

}  // namespace terrace::gpu_sim
