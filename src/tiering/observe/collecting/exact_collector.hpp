// The oracle: the simulator's own counters, exact to the line. Its profiles feed the lower bound and a column of
// results of their own; no decision may rest on them.
//
// Cells hold what placement cannot change (lines read and written, latencies exposed), so a profile is the same
// wherever the data was; `bandwidth_time` alone speaks of the placement of that iteration. `core` is C of the time
// law, with the exposed latency of misses on memory that belongs to no chunk (always at home) in it: that is time
// which no placement can win back. Where several threads ran in a phase, `core` and exposures are what they come
// to for each of them, evenly: the phase cannot have been shorter.
#pragma once

#include <vector>

#include "observe/collecting/thread_shares.hpp"
#include "observe/collector.hpp"
#include "observe/core_cost.hpp"
#include "observe/place_view.hpp"

namespace terrace::observe {

class ExactCollector final : public Collector {
 public:
  // The machine and the table outlive the collector.
  ExactCollector(const machine::Machine& machine, InitiatorId initiator, double cores,
                 const memory::ChunkTable& chunks);

  void set_instruction_time(Seconds time) override { cost_.set_instruction_time(time); }

 private:
  struct Lines {
    std::uint64_t read = 0;
    std::uint64_t written = 0;
  };
  void count(const Quantum& quantum, const Tally& tally) override;
  void finish(Phase& phase) override;
  void complete(Iteration& iteration) override;

  CoreCost cost_;
  PlaceView view_;
  const memory::ChunkTable& chunks_;
  double line_;      // bytes
  double core_ = 0;  // seconds, of this phase
  ThreadShares threads_;
  ChunkScratch<ChunkTraffic> traffic_;
  std::vector<Lines> on_place_;
  Lines unowned_;
};

}  // namespace terrace::observe
