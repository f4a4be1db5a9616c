// What one interval of a run showed, as far as a collector on a real machine can deliver it: samples of misses,
// hint faults, accessed bits, how busy each place was, how long the core stood still. A policy decides from this
// and from nothing else.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units.hpp"
#include "memory/chunk_table.hpp"

namespace terrace::observe {

struct SampledChunk {
  ChunkId chunk = 0;
  std::uint32_t reads = 0;   // samples of demand loads; each stands for sample_period lines
  std::uint32_t writes = 0;  // of write-backs, which stand for sampled stores
};

// The first access to a chunk since it was protected. A chunk faults as a whole, as a folio of its size does.
struct HintFault {
  ChunkId chunk = 0;
  Seconds latency;  // since it was protected
};

struct PlaceLoad {
  double utilisation = 0;  // share of its bandwidth that the program took: 0 to 1, copies not counted
  double reads = 0;        // lines
  Seconds latency;         // under that load: loaded_latency
};

struct Observation {
  Seconds length;  // of the interval
  std::uint32_t sample_period = 1;
  std::vector<SampledChunk> samples;  // in the order in which the chunks were first met
  std::vector<HintFault> faults;      // in order
  std::vector<ChunkId> touched;       // accessed bits: chunks that the caches let something through for
  std::vector<PlaceLoad> places;      // by place
  double reads = 0;                   // lines that were read
  Seconds stalled;                    // in which the core waited for them
};

// Latency of a place that is busy for a share of the time: a line waits for those before it as in a queue with
// random arrivals and equal service times (M/D/1), at most at 99 %. The time law itself has no such latency: there
// a saturated place holds the program back as a whole.
Seconds loaded_latency(Seconds unloaded, Seconds line_time, double utilisation);

}  // namespace terrace::observe
