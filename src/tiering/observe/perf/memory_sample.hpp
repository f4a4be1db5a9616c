// A sampled access to memory, whichever processor it was sampled on.
#pragma once

#include <cstdint>

namespace terrace::observe {

// Where the data came from. `fill_buffer`: an earlier access had already asked for the line; where that one found
// it is not said. `far`: memory behind CXL or non-volatile memory.
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
  std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC; 0 where it is not known
  std::uint32_t tid = 0;
  std::uint64_t ip = 0;
  std::uint64_t address = 0;
  std::uint64_t latency_cycles = 0;  // 0 where it is not known
  MemoryLevel level = MemoryLevel::unknown;
  bool is_load = false, is_store = false;  // both: an atomic operation; neither: not known
  bool tlb_miss = false;
  double weight = 1;  // events that it stands for: the period in force, more where events took turns on a counter
};

}  // namespace terrace::observe
