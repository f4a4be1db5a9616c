// The collector for policies: watches a run interval by interval, in place of what a kernel reads from sampled
// misses (PEBS, IBS), page tables and memory controllers' counters.
//
// Samples are one in every `sample_period` demand loads, and in as many lines written back, which stand for
// sampled stores; within a quantum lines count chunk by chunk. Nobody is told the address of a prefetched line.
// Misses on memory that belongs to no chunk are not seen. Counters by place have all lines.
//
// The program pays for records and interrupts, for what is protected in its time, as the kernel's scan does it,
// and for hint faults. Accessed bits are read by a thread of the kernel's own, which takes another core.
//
// Comes before the memory in the row of sinks: what a quantum touches is where it was when the quantum began.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/clock.hpp"
#include "observe/chunk_scratch.hpp"
#include "observe/collecting/sampling_price.hpp"
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

  void tallied(const Quantum& quantum, const Tally& tally) override;

  // The next access to each faults.
  void protect(std::span<const ChunkId> chunks);
  // Hint faults since the last call, for who charges their cost.
  std::uint32_t take_faults();
  // What samples and protecting have taken of the program since this was last asked.
  [[nodiscard]] Seconds take_cost() { return bill_.take(); }
  // What was seen since the last call, and whatever came before the first one is forgotten by it.
  Observation take();

 private:
  struct Seen {
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
  SamplingBill bill_;
  std::uint64_t since_read_ = 0;  // lines since the last sample
  std::uint64_t since_write_ = 0;
  std::vector<Seconds> protected_at_;  // by chunk; below 0: it is not
  std::vector<double> busy_;           // by place, s
  std::vector<std::uint64_t> reads_;   // by place, lines
  double stalled_ = 0;
  ChunkScratch<Seen> seen_;
  std::vector<HintFault> faults_;
  std::uint32_t new_faults_ = 0;
  Seconds begun_;
};

}  // namespace terrace::observe
