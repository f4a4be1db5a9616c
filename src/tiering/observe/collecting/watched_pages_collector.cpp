// See watched_pages_collector.hpp.
#include "observe/collecting/watched_pages_collector.hpp"

#include <algorithm>

namespace terrace::observe {

WatchedPagesCollector::WatchedPagesCollector(const machine::Machine& machine, InitiatorId initiator, double cores,
                                             const memory::ChunkTable& chunks, Clock& clock, Seconds window)
    : chunks_(chunks), clock_(clock), window_(window), known_(machine, initiator, cores, chunks, window.value) {}

std::vector<WatchedPagesCollector::Lying> WatchedPagesCollector::lying() const {
  std::vector<Lying> all;
  for (const auto& chunk : chunks_) {
    if (!chunk.live) continue;
    const auto end = chunk.address + chunk.size;
    if (!all.empty() && all.back().object == chunk.object && all.back().range.high == chunk.address)
      all.back().range.high = end;
    else
      all.push_back({{chunk.address, end}, chunk.object});
  }
  std::ranges::sort(all, {}, [](const Lying& one) { return one.range.low; });
  return all;
}

// Of phases that have ended; the one that is under way hears of the window when it is over, too: what a window
// told is kept by name.
std::vector<ReferencedPhases::Overlap> WatchedPagesCollector::overlaps(const UseWindow& window) {
  std::vector<ReferencedPhases::Overlap> parts;
  auto told = window.begin;
  for (const auto& stretch : recent_) {
    const auto begin = std::max(stretch.begin, window.begin);
    const auto end = std::min(stretch.end, window.end);
    if (end > begin) parts.push_back({stretch.phase, end - begin});
    told = std::max(told, stretch.end);
  }
  if (listens() && window.end > told) parts.push_back({phases().back().name, window.end - told});
  return parts;
}

void WatchedPagesCollector::add(const UseWindow& window) {
  if (!active()) return;
  const auto parts = overlaps(window);
  if (parts.empty()) return;
  known_.add(parts, window.bytes);
  ++windows_;
}

void WatchedPagesCollector::loop_begun() {
  known_.forget();
  recent_.clear();
  windows_ = 0;
}

void WatchedPagesCollector::finish(Phase& phase) {
  if (phase.name.empty()) return;  // what is dropped when an iteration begins
  // A window is as long as it is, and begins when the one before it has been read: older stretches meet none.
  constexpr double k_kept = 10;
  const auto now = clock_.now().value;
  std::erase_if(recent_, [&](const Stretch& one) { return one.end < now - k_kept; });
  recent_.push_back({phase.name, now - phase.time.value, now});
}

void WatchedPagesCollector::complete(Iteration& iteration) {
  const auto live = known_.live();
  for (auto& phase : iteration.phases) known_.write(phase.time.value, live, phase);
}

}  // namespace terrace::observe
