// SPDX-License-Identifier: Apache-2.0
// Describes a sampled memory access, independent of the processor, for the memory sampler and its users, and
// decodes its two encodings: the kernel's data-source word, and AMD's IBS registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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

// Decodes the word of PERF_SAMPLE_DATA_SRC (perf_event_open(2), perf_mem_data_src). Sets level, kind and TLB miss.
// Returns false, and sets nothing, where it is neither a load nor a store.
bool read_data_source(std::uint64_t word, MemorySample& sample) noexcept;

// Decodes PERF_SAMPLE_RAW of AMD's IBS op: a word of capabilities, then the registers from IbsOpCtl on, as the
// Processor Programming References list them (MSRs C001_1033 and following). Returns false, and sets nothing,
// where the operation was no access, its address is invalid, or bytes are missing.
bool read_ibs_op(std::span<const std::byte> raw, MemorySample& sample) noexcept;

}  // namespace terrace::observe
