// SPDX-License-Identifier: Apache-2.0
// Sums the counters of several SMs, slices or channels.
#include "gpu_sim/engine/dram_channel.hpp"
#include "gpu_sim/engine/memory_side.hpp"
#include "gpu_sim/engine/processor.hpp"

namespace terrace::gpu_sim {

ProcessorCounts& ProcessorCounts::operator+=(const ProcessorCounts& other) {
  instructions += other.instructions;
  accesses += other.accesses;
  loads += other.loads;
  load_hits += other.load_hits;
  load_merges += other.load_merges;
  stores += other.stores;
  atomics += other.atomics;
  return *this;
}

SliceCounts& SliceCounts::operator+=(const SliceCounts& other) {
  reads += other.reads;
  writes += other.writes;
  fetched_sectors += other.fetched_sectors;
  written_sectors += other.written_sectors;
  return *this;
}

DramCounts& DramCounts::operator+=(const DramCounts& other) {
  fill_bytes += other.fill_bytes;
  write_back_bytes += other.write_back_bytes;
  move_read_bytes += other.move_read_bytes;
  move_write_bytes += other.move_write_bytes;
  record_bytes += other.record_bytes;
  transfers += other.transfers;
  activations += other.activations;
  return *this;
}

}  // namespace terrace::gpu_sim
