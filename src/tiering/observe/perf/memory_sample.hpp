// SPDX-License-Identifier: Apache-2.0
// Describes a sampled memory access, independent of the processor.
#pragma once

#include <cstdint>

namespace terrace::observe {

// Where the data came from. `fill_buffer`: an earlier miss of the line was in flight; its source is unknown.
// `far`: CXL or non-volatile memory.
enum class MemoryLevel : std::uint8_t {
  unknown,
  l1,
  fill_buffer,
  l2,
  l3,
  remote_cache,
  local_dram,
  remote_dram,
  far
};

struct MemorySample {
  std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC; 0: unknown
  std::uint32_t tid = 0;
  std::uint64_t ip = 0;
  std::uint64_t address = 0;
  std::uint64_t latency_cycles = 0;  // 0: unknown
  MemoryLevel level = MemoryLevel::unknown;
  bool is_load = false, is_store = false;  // both: an atomic operation; neither: unknown
  bool tlb_miss = false;
  double weight = 1;  // events that it stands for: the period in force, more where events were multiplexed
};

}  // namespace terrace::observe
