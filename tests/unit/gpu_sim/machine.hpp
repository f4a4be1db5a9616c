// Returns the paper's GPU (Agarwal et al., HPCA 2015, table I), and smaller ones derived from it, for tests.
#pragma once

#include <cstdint>
#include <limits>

#include "machine/gpu.hpp"

namespace terrace::gpu_sim {

// Unlimited capacity.
inline constexpr auto k_all = std::numeric_limits<std::uint64_t>::max();

inline machine::GpuMemory test_memory(std::uint32_t channels, double bytes_per_second,
                                      std::uint32_t link_latency) {
  machine::GpuMemory memory;
  memory.channels = channels;
  memory.banks = 16;
  memory.row_bytes = 2048;
  memory.bytes_per_second = bytes_per_second;
  memory.command_hertz = 924e6;
  memory.row_to_column = memory.precharge = memory.read_latency = memory.write_latency = 12;
  memory.row_cycle = 40;
  memory.row_to_row = 6;
  memory.write_to_read = 9;
  memory.read_to_write = 10;
  memory.refresh_interval = 3604;
  memory.refresh = 60;
  memory.queue = 64;
  memory.link_latency = link_latency;
  return memory;
}

inline machine::Gpu test_gpu() {
  machine::Gpu gpu;
  gpu.hertz = 1.4e9;
  gpu.processors = 15;
  gpu.schedulers = 2;
  gpu.warps = 48;
  gpu.ctas = 8;
  gpu.registers = 32768;
  gpu.shared_bytes = 48 << 10;
  gpu.instruction_latency = 8;
  gpu.access_queue = 8;
  gpu.stores = 64;
  gpu.l1 = {16 << 10, 4, 1, 64, 8};
  gpu.l2 = {128 << 10, 16, 8, 128, 32};
  gpu.network_latency = 50;
  gpu.network_bytes = 32;
  gpu.launch_cycles = 1000;
  gpu.page_bytes = 4096;
  gpu.l1_tlb_entries = 64;
  gpu.l2_tlb_entries = 512;
  gpu.l2_tlb_latency = 10;
  gpu.walk_latency = 100;
  gpu.walkers = 64;
  gpu.shootdown = 100;
  gpu.page_copies = 4;
  gpu.notice = 1400;
  gpu.fault = 28'000;
  gpu.fault_batch = 256;
  gpu.memories = {test_memory(8, 200e9, 0), test_memory(4, 80e9, 100)};
  gpu.memories[1].place = 1;
  return gpu;
}

}  // namespace terrace::gpu_sim
