// SPDX-License-Identifier: Apache-2.0
// Implements the windows in which page references are counted, for `--collector page-references`. See
// page_references_collector.hpp.
#include "observe/collecting/page_references_collector.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace terrace::observe {

PageReferencesCollector::PageReferencesCollector(const machine::Machine& machine, InitiatorId initiator,
                                                 double cores, const memory::ChunkTable& chunks, Seconds window)
    : cost_(machine, initiator, cores),
      view_(machine, initiator),
      chunks_(chunks),
      window_(window.value / cores),
      line_(machine.parts().line.value),
      overhead_(1),
      estimator_(machine, initiator, cores, chunks, window_) {
  if (!std::isfinite(window_) || window_ <= 0)
    throw Error(Code::invalid, "--sample: a window of page references of " + std::to_string(window.value) +
                                   " s is not above 0; give a larger number of cycles");
}

void PageReferencesCollector::count(const Quantum& quantum, const Tally& tally) {
  threads_.add_thread(quantum.thread);
  if (!in_window_ && now_ >= next_window_ && is_window_due()) open_window();
  if (in_window_)
    for (const auto& miss : quantum.misses)
      if (miss.kind != MissKind::writeback && miss.chunk != memory::k_no_chunk)
        referenced_.at(miss.chunk).set(miss.line * line_, page_of(chunks_[miss.chunk].size));
  now_ += cost_.core_time(quantum).value;
  for (const auto& [chunk, traffic] : tally.chunks())
    now_ += cost_.exposure(traffic) * view_.path(view_.place_of(chunks_[chunk])).latency.value;
  now_ += cost_.exposure(tally.unowned()) * view_.path(view_.unowned()).latency.value;
  if (in_window_ && now_ - window_begun_ >= window_) close_window();
}

// Adds the window's overlap with the phase that ends, or is interrupted, now.
void PageReferencesCollector::add_overlap(const std::string& phase) {
  if (!in_window_) return;
  if (const auto time = now_ - std::max(window_begun_, phase_begun_); time > 0) overlaps_.push_back({phase, time});
}

// Stores the phase's duration as time samples, which Collector::merge adds up.
void PageReferencesCollector::finish(Phase& phase) {
  add_overlap(phase.name);
  phase.samples = (now_ - phase_begun_) / window_;
  phase_begun_ = now_;
  threads_.on_phase_end(phase.name);
}

void PageReferencesCollector::open_window() {
  in_window_ = true;
  window_begun_ = now_;
  overlaps_.clear();
  referenced_.clear();
}

// Ends the window, and attributes the bytes used in it to the phases that it overlaps.
void PageReferencesCollector::close_window() {
  if (!phases().empty()) add_overlap(phases().back().name);
  in_window_ = false;
  ++windows_;
  last_window_ = now_;
  // Charges all pages: those that were cleared and not used in the window are used later.
  overhead_.add_window(pages_of(chunks_));
  estimator_.add(overlaps_, used_by_object());
}

// Returns whether the time since the last window pays for another one; the number of pages may have grown since.
bool PageReferencesCollector::is_window_due() {
  next_window_ = last_window_ + window_cost(pages_of(chunks_)).value / k_max_reference_share;
  return now_ >= next_window_;
}

PhaseUseEstimator::ByObject PageReferencesCollector::used_by_object() const {
  PhaseUseEstimator::ByObject used;
  for (const auto& [chunk, pages] : referenced_.entries())
    used[chunks_[chunk].object] += pages.touched(chunks_[chunk].size, k_distinct_lines * line_);
  return used;
}

void PageReferencesCollector::complete_iteration(Iteration& iteration) {
  const auto live = estimator_.live();
  for (auto& phase : iteration.phases) estimator_.write(phase.samples * window_, live, phase);
  threads_.divide(iteration);
}

}  // namespace terrace::observe
