// What a system without performance counters delivers to anybody: which pages were used since their bits were
// cleared, summed by mapping, where each object has a mapping of its own (proc(5): clear_refs, and the Referenced
// figure of smaps).
//
// Bits are cleared, and read when a window of time is over; when the time has come in which both, and what the
// program then pays for its pages, are 1.5 %. What was used of an object in a window counts as read once: a sweep
// that takes longer than a window uses each page once or twice, so that its bytes are those that it moves. What a
// window uses whole may have been used many times, and counts as little as if it had been swept once a window;
// that is the collector's error, and the smaller the window the smaller it is.
//
// What phases were found to use is kept from one iteration to the next (referenced_phases.hpp).
//
// Here only what the caches miss is a use. A real bit is set when a page's translation is looked up, also where
// the caches have its lines; and not while the processor still holds the translation from before.
#pragma once

#include <string>
#include <vector>

#include "observe/collecting/page_bits.hpp"
#include "observe/collecting/referenced_phases.hpp"
#include "observe/collecting/sampling_price.hpp"
#include "observe/collecting/thread_shares.hpp"
#include "observe/collector.hpp"
#include "observe/core_cost.hpp"
#include "observe/place_view.hpp"

namespace terrace::observe {

inline constexpr double k_reference_window_cycles = 10e6;

class PageReferencesCollector final : public Collector {
 public:
  // Machine and table outlive it. `window`: of each core's time. Throws Error{invalid} when it is not above 0.
  PageReferencesCollector(const machine::Machine& machine, InitiatorId initiator, double cores,
                          const memory::ChunkTable& chunks, Seconds window);

  void set_instruction_time(Seconds time) override { cost_.set_instruction_time(time); }
  [[nodiscard]] Seconds take_cost() override { return bill_.take(); }
  [[nodiscard]] bool wants_misses() const override { return listens() && in_window_; }
  [[nodiscard]] std::uint64_t windows() const { return windows_; }

 private:
  void count(const Quantum& quantum, const Tally& tally) override;
  void finish(Phase& phase) override;
  void complete(Iteration& iteration) override;
  void open();
  void close();
  void overlap(const std::string& phase);
  [[nodiscard]] bool has_earned_window();
  [[nodiscard]] ReferencedPhases::ByObject used_by_object() const;

  CoreCost cost_;
  PlaceView view_;
  const memory::ChunkTable& chunks_;
  double window_;  // seconds of progress
  std::uint64_t line_;
  SamplingBill bill_;
  ThreadShares threads_;

  double now_ = 0;  // seconds of progress, while it listens
  double phase_begun_ = 0;
  double window_begun_ = 0;
  double last_window_ = 0;  // its end
  double next_window_ = 0;  // not before this time
  bool in_window_ = false;
  std::uint64_t windows_ = 0;
  std::vector<ReferencedPhases::Overlap> overlaps_;  // of this window
  ChunkScratch<PageBits> referenced_;                // in this window
  ReferencedPhases known_;
};

}  // namespace terrace::observe
