// SPDX-License-Identifier: Apache-2.0
// Defines the observations of one interval, limited to what real hardware and kernels can deliver: samples of
// misses, hint faults, accessed bits, utilisation of each place, stall time. They are the only input of tiering
// policies.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units.hpp"
#include "memory/chunk_table.hpp"

namespace terrace::observe {

struct SampledChunk {
  ChunkId chunk = 0;
  std::uint32_t reads = 0;   // samples of demand loads; each stands for sample_period lines
  std::uint32_t writes = 0;  // samples of write-backs, which stand for sampled stores
};

// The first access to a chunk after its protection. A chunk faults as a whole, as a folio of its size does.
struct HintFault {
  ChunkId chunk = 0;
  Seconds latency;  // since it was protected
};

struct PlaceLoad {
  double utilisation = 0;  // used share of its bandwidth, 0 to 1, without copies
  double reads = 0;        // lines
  Seconds latency;         // under this load: see loaded_latency
};

struct Observation {
  Seconds length;  // of the interval
  std::uint32_t sample_period = 1;
  std::vector<SampledChunk> samples;  // in the order of the chunks' first accesses
  std::vector<HintFault> faults;      // in order
  std::vector<ChunkId> touched;       // accessed bits: chunks with a cache miss
  std::vector<PlaceLoad> places;      // by place
  double reads = 0;                   // lines read
  Seconds stalled;                    // time in which the core was stalled by reads
};

// Returns the latency of a place at a utilisation, limited to 99 %: an M/D/1 queue (random arrivals, equal service
// times). The time law has no such latency: there a saturated place slows the program down as a whole.
Seconds loaded_latency(Seconds unloaded, Seconds line_time, double utilisation);

}  // namespace terrace::observe
