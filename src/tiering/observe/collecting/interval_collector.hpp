// SPDX-License-Identifier: Apache-2.0
// Collects the observations of tiering policies, interval by interval: models what a kernel reads from sampled
// misses (PEBS, IBS), page tables and the counters of memory controllers.
//
// One in `sample_period` demand loads is sampled, and one in as many write-backs, which stand for sampled stores;
// within a quantum lines are counted chunk by chunk. Prefetched lines have no sampled address. Misses on memory
// that belongs to no chunk are not observed. The counters by place include all lines.
//
// The program is charged for records and interrupts, for the protection of pages, as in the kernel's scan, and for
// hint faults. Accessed bits are read by a kernel thread on another core.
//
// Requires: this sink precedes the simulated memory in the Tee, so that chunks are where they were when the
// quantum began.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/clock.hpp"
#include "observe/chunk_scratch.hpp"
#include "observe/collecting/sampling_overhead.hpp"
#include "observe/core_cost.hpp"
#include "observe/observation.hpp"
#include "observe/place_view.hpp"
#include "observe/tally.hpp"

namespace terrace::observe {

class IntervalCollector final : public TallySink {
 public:
  // Machine, table and clock outlive it. A sample period of 0 takes no samples. Throws as CoreCost does.
  IntervalCollector(const machine::Machine& machine, InitiatorId initiator, double cores,
                    const memory::ChunkTable& chunks, Clock& clock, std::uint32_t sample_period);

  void on_tally(const Quantum& quantum, const Tally& tally) override;

  // Protects the chunks: the next access to each raises a hint fault.
  void protect(std::span<const ChunkId> chunks);
  // Returns the hint faults since the last call; the caller charges their cost.
  std::uint32_t take_faults();
  // Returns the time that samples and protection have cost the program since the last call.
  [[nodiscard]] Seconds take_cost() { return overhead_.take(); }
  // Returns the observations since the last call.
  Observation take();

 private:
  struct SampleCounts {
    std::uint32_t read_samples = 0;
    std::uint32_t write_samples = 0;
  };
  std::uint32_t sample(std::uint64_t lines, std::uint64_t& since);
  void fault(ChunkId chunk);

  CoreCost cost_;
  PlaceView view_;
  const memory::ChunkTable& chunks_;
  Clock& clock_;
  double line_;
  std::uint32_t period_;
  SamplingOverhead overhead_;
  std::uint64_t since_read_ = 0;  // lines since the last sample
  std::uint64_t since_write_ = 0;
  std::vector<Seconds> protected_at_;  // by chunk; below 0: not protected
  std::vector<double> busy_;           // by place, s
  std::vector<std::uint64_t> reads_;   // by place, lines
  double stalled_ = 0;
  ChunkScratch<SampleCounts> samples_;
  std::vector<HintFault> faults_;
  std::uint32_t new_faults_ = 0;
  Seconds begun_;
};

}  // namespace terrace::observe
