// SPDX-License-Identifier: Apache-2.0
// Makes profiles of uninstrumented programs from windows of watched pages, for the agent's page-use monitor. See
// watched_pages_collector.hpp.
#include "observe/collecting/watched_pages_collector.hpp"

#include <algorithm>

namespace terrace::observe {

WatchedPagesCollector::WatchedPagesCollector(const machine::Machine& machine, InitiatorId initiator, double cores,
                                             const memory::ChunkTable& chunks, Clock& clock, Seconds window)
    : chunks_(chunks),
      clock_(clock),
      window_(window),
      estimator_(machine, initiator, cores, chunks, window.value) {}

std::vector<WatchedPagesCollector::LiveRange> WatchedPagesCollector::live_ranges() const {
  std::vector<LiveRange> all;
  for (const auto& chunk : chunks_) {
    if (!chunk.live) continue;
    const auto end = chunk.address + chunk.size;
    if (!all.empty() && all.back().object == chunk.object && all.back().range.high == chunk.address)
      all.back().range.high = end;
    else
      all.push_back({{chunk.address, end}, chunk.object});
  }
  std::ranges::sort(all, {}, [](const LiveRange& one) { return one.range.low; });
  return all;
}

// Returns the window's overlaps with phases, the current one included.
std::vector<PhaseUseEstimator::Overlap> WatchedPagesCollector::overlaps(const UseWindow& window) {
  std::vector<PhaseUseEstimator::Overlap> parts;
  auto covered = window.begin;
  for (const auto& interval : recent_) {
    const auto begin = std::max(interval.begin, window.begin);
    const auto end = std::min(interval.end, window.end);
    if (end > begin) parts.push_back({interval.phase, end - begin});
    covered = std::max(covered, interval.end);
  }
  if (is_counting() && window.end > covered) parts.push_back({phases().back().name, window.end - covered});
  return parts;
}

void WatchedPagesCollector::add(const UseWindow& window) {
  if (!active()) return;
  const auto parts = overlaps(window);
  if (parts.empty()) return;
  estimator_.add(parts, window.bytes);
  ++windows_;
}

void WatchedPagesCollector::on_loop_begin() {
  estimator_.clear();
  recent_.clear();
  windows_ = 0;
}

void WatchedPagesCollector::finish(Phase& phase) {
  if (phase.name.empty()) return;  // the dummy phase of begin_iteration
  // Windows begin when the one before has been read: none overlaps an interval that ended longer ago than this.
  constexpr double k_max_age = 10;  // seconds
  const auto now = clock_.now().value;
  std::erase_if(recent_, [&](const PhaseInterval& one) { return one.end < now - k_max_age; });
  recent_.push_back({phase.name, now - phase.time.value, now});
}

void WatchedPagesCollector::complete_iteration(Iteration& iteration) {
  const auto live = estimator_.live();
  for (auto& phase : iteration.phases) estimator_.write(phase.time.value, live, phase);
}

}  // namespace terrace::observe
