// SPDX-License-Identifier: Apache-2.0
// Decodes AMD's IBS op registers of a sampled access, for the memory sampler. See memory_sample.hpp. Bits by the
// Processor Programming References of families 17h and 19h: IbsOpData2 (data source), IbsOpData3 (the access),
// IbsDcLinAd (its address).
#include <cstring>

#include "observe/perf/memory_sample.hpp"

namespace terrace::observe {

namespace {

// Indices of the registers after the word of capabilities.
constexpr std::size_t k_data2 = 3, k_data3 = 4, k_address = 5, k_registers = 6;
constexpr std::uint32_t k_more_sources = 1U << 11U;  // since Zen 4: five bits for the source

constexpr bool ibs_bit(std::uint64_t word, unsigned number) { return (word >> number & 1) != 0; }

// Returns the memory level that the data source in IbsOpData2 stands for.
MemoryLevel ibs_source(std::uint64_t data2, bool more_sources) {
  const auto number = (data2 & 7) | (more_sources ? data2 >> 3 & 0x18 : 0);
  const bool remote = ibs_bit(data2, 4);
  switch (number) {
    case 1:
      return MemoryLevel::l3;
    case 2:  // the cache of a neighbouring complex, or before Zen 4 of another node
      return more_sources ? MemoryLevel::l3 : MemoryLevel::remote_cache;
    case 3:
      return remote ? MemoryLevel::remote_dram : MemoryLevel::local_dram;
    case 5:
      return more_sources ? MemoryLevel::remote_cache : MemoryLevel::unknown;
    case 6:  // non-volatile memory
    case 8:  // memory behind CXL
      return more_sources ? MemoryLevel::far : MemoryLevel::unknown;
    default:  // 7: devices; 12: coherent memory of another processor
      return MemoryLevel::unknown;
  }
}

}  // namespace

bool read_ibs_op(std::span<const std::byte> raw, MemorySample& sample) noexcept {
  std::uint32_t capabilities = 0;
  std::uint64_t registers[k_registers];
  if (raw.size() < sizeof capabilities + sizeof registers) return false;
  std::memcpy(&capabilities, raw.data(), sizeof capabilities);
  std::memcpy(registers, raw.data() + sizeof capabilities, sizeof registers);
  const auto data3 = registers[k_data3];
  const bool load = ibs_bit(data3, 0), store = ibs_bit(data3, 1);
  if ((!load && !store) || !ibs_bit(data3, 17)) return false;
  sample.is_load = load;
  sample.is_store = store;
  sample.address = registers[k_address];
  sample.tlb_miss = ibs_bit(data3, 2) && ibs_bit(data3, 3);  // missed both TLB levels
  const bool missed = ibs_bit(data3, 7), missed_l2 = ibs_bit(data3, 20), uncached = ibs_bit(data3, 14);
  // The latency is that of missing loads, from the miss to the data.
  sample.latency_cycles = load && missed ? data3 >> 32 & 0xffff : 0;
  // For prefetches and lines already in flight the state of the second cache is unknown.
  const bool asked_before = ibs_bit(data3, 16) || ibs_bit(data3, 21);
  sample.level = MemoryLevel::unknown;
  if (uncached) return true;
  if (!missed) {
    sample.level = MemoryLevel::l1;
  } else if (!missed_l2 && !asked_before) {
    sample.level = MemoryLevel::l2;
  } else {
    // Only loads have a source.
    if (load) sample.level = ibs_source(registers[k_data2], (capabilities & k_more_sources) != 0);
    if (sample.level == MemoryLevel::unknown && ibs_bit(data3, 16)) sample.level = MemoryLevel::fill_buffer;
  }
  return true;
}

}  // namespace terrace::observe
