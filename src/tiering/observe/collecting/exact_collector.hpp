// SPDX-License-Identifier: Apache-2.0
// Collects exact profiles from the simulator's own counters: the oracle. Its profiles serve the lower bound and a
// column of the results; no placement decision may use them.
//
// Cells contain what placement cannot change (lines read and written, latencies exposed), so a profile does not
// depend on where the data was; only `bandwidth_time` depends on the placement of that iteration. `core` is C of
// the time law plus the exposed latency of misses on memory that belongs to no chunk (always in its home place):
// no placement can reduce that time. Where several threads ran in a phase, `core` and exposures are divided evenly
// by their number: the phase cannot have been shorter.
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
  void complete_iteration(Iteration& iteration) override;

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
