// Windows, and what they say of phases. See page_references_collector.hpp.
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
      bill_(1),
      known_(machine, initiator, cores, chunks, window_) {
  if (!std::isfinite(window_) || window_ <= 0)
    throw Error(Code::invalid, "a window of " + std::to_string(window.value) + " s; it must be above 0");
}

void PageReferencesCollector::count(const Quantum& quantum, const Tally& tally) {
  threads_.ran(quantum.thread);
  if (!in_window_ && now_ >= next_window_ && has_earned_window()) open();
  if (in_window_)
    for (const auto& miss : quantum.misses)
      if (miss.kind != MissKind::writeback && miss.chunk != memory::k_no_chunk)
        referenced_.at(miss.chunk).set(miss.line * line_, page_of(chunks_[miss.chunk].size));
  now_ += cost_.core_time(quantum).value;
  for (const auto& [chunk, traffic] : tally.chunks())
    now_ += cost_.exposure(traffic) * view_.path(view_.place_of(chunks_[chunk])).latency.value;
  now_ += cost_.exposure(tally.unowned()) * view_.path(view_.unowned()).latency.value;
  if (in_window_ && now_ - window_begun_ >= window_) close();
}

// The time that the window has had of the phase that ends, or is interrupted, now.
void PageReferencesCollector::overlap(const std::string& phase) {
  if (!in_window_) return;
  if (const auto time = now_ - std::max(window_begun_, phase_begun_); time > 0) overlaps_.push_back({phase, time});
}

// How long the phase was is written as samples of time: who merges phases adds them.
void PageReferencesCollector::finish(Phase& phase) {
  overlap(phase.name);
  phase.samples = (now_ - phase_begun_) / window_;
  phase_begun_ = now_;
  threads_.phase_ended(phase.name);
}

void PageReferencesCollector::open() {
  in_window_ = true;
  window_begun_ = now_;
  overlaps_.clear();
  referenced_.clear();
}

void PageReferencesCollector::close() {
  if (!phases().empty()) overlap(phases().back().name);
  in_window_ = false;
  ++windows_;
  last_window_ = now_;
  // What was cleared and is not used now is used later, and paid then.
  bill_.add_window(pages_of(chunks_));
  known_.add(overlaps_, used_by_object());
}

// Whether the time since the last one has; there may be more pages by now than when that was last asked.
bool PageReferencesCollector::has_earned_window() {
  next_window_ = last_window_ + window_cost(pages_of(chunks_)).value / k_share_of_references;
  return now_ >= next_window_;
}

ReferencedPhases::ByObject PageReferencesCollector::used_by_object() const {
  ReferencedPhases::ByObject used;
  for (const auto& [chunk, pages] : referenced_.entries())
    used[chunks_[chunk].object] += pages.touched(chunks_[chunk].size, k_lines_told_apart * line_);
  return used;
}

void PageReferencesCollector::complete(Iteration& iteration) {
  const auto live = known_.live();
  for (auto& phase : iteration.phases) known_.write(phase.samples * window_, live, phase);
  threads_.share(iteration);
}

}  // namespace terrace::observe
