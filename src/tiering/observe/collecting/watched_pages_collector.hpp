// SPDX-License-Identifier: Apache-2.0
// Collects the profile of an uninstrumented program from the pages that it uses, as the kernel reports them
// (page_watch.hpp), in windows of real time that the agent opens (agent/page_use_monitor.hpp).
//
// It is page_references_collector.hpp on real hardware, with the same errors: what was used of an object in a
// window counts as read once, whatever the number of accesses. Windows that cover a part of a phase are
// extrapolated to all of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "observe/collecting/phase_use_estimator.hpp"
#include "observe/collector.hpp"
#include "observe/page_watch.hpp"

namespace terrace::observe {

// The bytes used of each object in an interval of the run's clock.
struct UseWindow {
  double begin = 0, end = 0;          // seconds
  PhaseUseEstimator::ByObject bytes;  // used
};

class WatchedPagesCollector final : public Collector {
 public:
  // Machine, table and clock outlive the collector. `window`: nominal length of windows.
  WatchedPagesCollector(const machine::Machine& machine, InitiatorId initiator, double cores,
                        const memory::ChunkTable& chunks, Clock& clock, Seconds window);

  [[nodiscard]] Seconds window() const { return window_; }
  // Contiguous chunks of a live object.
  struct LiveRange {
    WatchedRange range;
    ObjectId object = 0;
    bool may_change_flags = true;  // by madvise(2), to split adjacent mappings
  };
  // Returns the ranges of all live objects, ascending by address.
  [[nodiscard]] std::vector<LiveRange> live_ranges() const;
  // Adds a window that has ended to the phases that it overlaps. Has no effect while the collector is inactive.
  void add(const UseWindow& window);
  void on_loop_begin() override;
  // Returns true after a few windows: the use in a single one may occur only once a second.
  [[nodiscard]] bool has_enough_data() const override { return windows_ >= k_windows; }
  static constexpr std::uint32_t k_windows = 8;

  void set_instruction_time(Seconds) override {}  // time is measured by the clock

 private:
  struct PhaseInterval {  // kept while windows may still overlap it
    std::string phase;
    double begin = 0, end = 0;
  };
  void count(const Quantum&, const Tally&) override {}
  void finish(Phase& phase) override;
  void complete_iteration(Iteration& iteration) override;
  [[nodiscard]] std::vector<PhaseUseEstimator::Overlap> overlaps(const UseWindow& window);

  const memory::ChunkTable& chunks_;
  Clock& clock_;
  Seconds window_;
  PhaseUseEstimator estimator_;
  std::vector<PhaseInterval> recent_;  // ended intervals, ascending
  std::uint32_t windows_ = 0;          // that overlap phases of this loop
};

}  // namespace terrace::observe
