// SPDX-License-Identifier: Apache-2.0
// Decodes the kernel's data-source word of a sampled access, for the memory sampler. See memory_sample.hpp. The
// word contains the level twice: as a set of bits, without names for later memories, and since Linux 4.13 as a
// number with "remote" and "hops". The number takes precedence.
#include <linux/perf_event.h>

#include "observe/perf/memory_sample.hpp"

namespace terrace::observe {

namespace {

constexpr std::uint64_t word_bits(std::uint64_t word, unsigned shift, unsigned count) {
  return word >> shift & ((1ULL << count) - 1);
}

// Newer than the oldest supported kernel headers.
constexpr std::uint64_t k_level_msc = 0x06;  // a cache at the memory's side
constexpr std::uint64_t k_level_cxl = 0x09;
constexpr std::uint64_t k_level_pmem = 0x0e;
constexpr std::uint64_t k_hops_core = 1;  // another core of the same node
constexpr unsigned k_hops_shift = 43;

// Returns the level by the word's number field, which kernels since Linux 4.13 set.
MemoryLevel by_number(std::uint64_t word) {
  const auto hops = word_bits(word, k_hops_shift, 3);
  const bool remote = word_bits(word, PERF_MEM_REMOTE_SHIFT, 1) != 0 || hops > k_hops_core;
  switch (word_bits(word, PERF_MEM_LVLNUM_SHIFT, 4)) {
    case PERF_MEM_LVLNUM_L1:
      return MemoryLevel::l1;
    case PERF_MEM_LVLNUM_LFB:
      return MemoryLevel::fill_buffer;
    case PERF_MEM_LVLNUM_L2:
    case 0x05:  // of the L2's own miss buffer
      return remote ? MemoryLevel::remote_cache : MemoryLevel::l2;
    case PERF_MEM_LVLNUM_L3:
    case PERF_MEM_LVLNUM_L4:
    case PERF_MEM_LVLNUM_ANY_CACHE:
      return remote ? MemoryLevel::remote_cache : MemoryLevel::l3;
    case PERF_MEM_LVLNUM_RAM:
    case k_level_msc:
      return remote ? MemoryLevel::remote_dram : MemoryLevel::local_dram;
    case k_level_cxl:
    case k_level_pmem:
      return MemoryLevel::far;
    default:
      return MemoryLevel::unknown;
  }
}

// Returns the level by the word's set of bits.
MemoryLevel by_bits(std::uint64_t word) {
  const auto levels = word_bits(word, PERF_MEM_LVL_SHIFT, 14);
  if ((levels & PERF_MEM_LVL_NA) != 0) return MemoryLevel::unknown;
  // Some kernels set two levels: the farther one had the data.
  if ((levels & (PERF_MEM_LVL_REM_RAM1 | PERF_MEM_LVL_REM_RAM2)) != 0) return MemoryLevel::remote_dram;
  if ((levels & PERF_MEM_LVL_LOC_RAM) != 0) return MemoryLevel::local_dram;
  if ((levels & (PERF_MEM_LVL_REM_CCE1 | PERF_MEM_LVL_REM_CCE2)) != 0) return MemoryLevel::remote_cache;
  // Stores of older processors: only the miss is known.
  if ((levels & PERF_MEM_LVL_MISS) != 0) return MemoryLevel::unknown;
  if ((levels & PERF_MEM_LVL_L3) != 0) return MemoryLevel::l3;
  if ((levels & PERF_MEM_LVL_L2) != 0) return MemoryLevel::l2;
  if ((levels & PERF_MEM_LVL_LFB) != 0) return MemoryLevel::fill_buffer;
  if ((levels & PERF_MEM_LVL_L1) != 0) return MemoryLevel::l1;
  return MemoryLevel::unknown;
}

}  // namespace

bool read_data_source(std::uint64_t word, MemorySample& sample) noexcept {
  const auto kind = word_bits(word, PERF_MEM_OP_SHIFT, 5);
  const bool load = (kind & (PERF_MEM_OP_LOAD | PERF_MEM_OP_PFETCH)) != 0;
  const bool store = (kind & PERF_MEM_OP_STORE) != 0;
  if (!load && !store) return false;
  sample.is_load = load;
  sample.is_store = store;
  const auto levels = word_bits(word, PERF_MEM_LVL_SHIFT, 14);
  const bool missed = (levels & PERF_MEM_LVL_MISS) != 0 && (levels & PERF_MEM_LVL_HIT) == 0;
  auto number = by_number(word);
  // "Missed there" does not say where the data were.
  if (missed && (number == MemoryLevel::l1 || number == MemoryLevel::l2 || number == MemoryLevel::l3))
    number = MemoryLevel::unknown;
  sample.level = number != MemoryLevel::unknown ? number : by_bits(word);
  sample.tlb_miss = (word_bits(word, PERF_MEM_TLB_SHIFT, 7) & PERF_MEM_TLB_MISS) != 0;
  return true;
}

}  // namespace terrace::observe
