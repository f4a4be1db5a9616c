// SPDX-License-Identifier: Apache-2.0
// Collects profiles in virtual time from accessed bits alone (`--collector page-references`), as a system without
// performance counters offers them without privileges: the pages used since their bits were cleared, summed by
// mapping, where each object has a mapping of its own (proc(5): clear_refs, and the Referenced figure of smaps).
//
// In each window of time the bits are cleared at its begin and read at its end. The next window begins when both,
// and the program's cost of its page-table walks, are 1.5 % of the time. The bytes of an object used in a window
// count as read once: a sweep that takes longer than a window uses each page once or twice, so its bytes are those
// that it moves. An object that is used whole in a window may have been read many times, but counts as swept once
// a window: this is the collector's error, and it falls with the length of the window.
//
// The estimated use of phases is kept from one iteration to the next (phase_use_estimator.hpp).
//
// In this model only cache misses set bits. A real bit is set by a page-table walk, also where the caches have the
// page's lines; and not while the TLB has the translation from before.
#pragma once

#include <string>
#include <vector>

#include "observe/collecting/page_bits.hpp"
#include "observe/collecting/phase_use_estimator.hpp"
#include "observe/collecting/sampling_overhead.hpp"
#include "observe/collecting/thread_shares.hpp"
#include "observe/collector.hpp"
#include "observe/core_cost.hpp"
#include "observe/place_view.hpp"

namespace terrace::observe {

inline constexpr double k_reference_window_cycles = 10e6;

class PageReferencesCollector final : public Collector {
 public:
  // Machine and table outlive the collector. `window`: of each core's time. Throws Error{invalid} when it is not
  // above 0.
  PageReferencesCollector(const machine::Machine& machine, InitiatorId initiator, double cores,
                          const memory::ChunkTable& chunks, Seconds window);

  void set_instruction_time(Seconds time) override { cost_.set_instruction_time(time); }
  [[nodiscard]] Seconds take_cost() override { return overhead_.take(); }
  [[nodiscard]] bool wants_misses() const override { return is_counting() && in_window_; }
  [[nodiscard]] std::uint64_t windows() const { return windows_; }

 private:
  void count(const Quantum& quantum, const Tally& tally) override;
  void finish(Phase& phase) override;
  void complete_iteration(Iteration& iteration) override;
  void open_window();
  void close_window();
  void add_overlap(const std::string& phase);
  [[nodiscard]] bool is_window_due();
  [[nodiscard]] PhaseUseEstimator::ByObject used_by_object() const;

  CoreCost cost_;
  PlaceView view_;
  const memory::ChunkTable& chunks_;
  double window_;  // seconds of progress
  std::uint64_t line_;
  SamplingOverhead overhead_;
  ThreadShares threads_;

  double now_ = 0;  // seconds of progress in active phases
  double phase_begun_ = 0;
  double window_begun_ = 0;
  double last_window_ = 0;  // end of the last window
  double next_window_ = 0;  // earliest begin of the next window
  bool in_window_ = false;
  std::uint64_t windows_ = 0;
  std::vector<PhaseUseEstimator::Overlap> overlaps_;  // of this window with phases
  ChunkScratch<PageBits> referenced_;                 // in this window
  PhaseUseEstimator estimator_;
};

}  // namespace terrace::observe
